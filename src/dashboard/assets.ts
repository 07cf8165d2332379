import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { createRequire, stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { stylesheet } from './style/index.ts'

/** One file for the browser, as it goes over the wire. */
export interface Asset {
  readonly contentType: string
  readonly body: Buffer
  readonly zipped: Buffer
}

export interface Assets {
  /** By path below `/assets/<digest>/`. */
  readonly files: ReadonlyMap<string, Asset>
  /** Of all that is served: a new version has new addresses, so that browsers may keep the old ones for ever. */
  readonly digest: string
  /** The module that starts the application. */
  readonly main: string
  /** All modules that every page needs, so that a browser fetches them at once and not one after another. */
  readonly preloads: readonly string[]
}

/** Modules of other packages, by the name that the application imports them by. They are served as they are published. */
const vendors: Readonly<Record<string, string>> = {
  preact: 'preact/dist/preact.mjs',
  'preact/hooks': 'preact/hooks/dist/hooks.mjs',
  htm: 'htm/dist/htm.mjs',
  uplot: 'uplot/dist/uPlot.esm.js',
}

/** Modules at the root of the sources that the application runs by too. They import nothing. */
const rootModules = ['clock', 'state-outcome']

const script = 'text/javascript; charset=utf-8'
/** Only some pages have a plot. */
const lazy = ['vendor/uplot.js']

export async function loadAssets(): Promise<Assets> {
  // From the sources, types are taken out here; in dist/ the compiler has done it.
  const extension = import.meta.url.endsWith('.ts') ? '.ts' : '.js'
  const texts = new Map<string, { readonly contentType: string; readonly text: string }>()
  const app = new URL('./app/', import.meta.url)
  for (const name of (await readdir(app, { recursive: true })).toSorted()) {
    const path = name.replaceAll('\\', '/')
    if (!path.endsWith(extension) || /\.(test|d)\.[jt]s$/.test(path)) continue
    texts.set(`dashboard/app/${path}`, await moduleOf(new URL(path, app), `dashboard/app/${path}`))
  }
  for (const name of rootModules) {
    const path = `${name}${extension}`
    texts.set(path, await moduleOf(new URL(`../${path}`, import.meta.url), path))
  }
  for (const [name, file] of Object.entries(vendors)) {
    const text = await readFile(locate(file), 'utf8')
    texts.set(vendorPath(name), { contentType: script, text: rewritten(text, vendorPath(name)) })
  }
  texts.set('style.css', { contentType: 'text/css; charset=utf-8', text: stylesheet })
  texts.set('plot.css', {
    contentType: 'text/css; charset=utf-8',
    text: await readFile(locate('uplot/dist/uPlot.min.css'), 'utf8'),
  })
  texts.set('icon.svg', { contentType: 'image/svg+xml', text: icon })
  return assetsOf(texts, `dashboard/app/main${extension}`)
}

async function assetsOf(
  texts: ReadonlyMap<string, { readonly contentType: string; readonly text: string }>,
  main: string,
): Promise<Assets> {
  const hash = createHash('sha256')
  const files = new Map<string, Asset>()
  for (const [path, { contentType, text }] of texts) {
    const body = Buffer.from(text)
    hash.update(path).update(body)
    files.set(path, { contentType, body, zipped: await promisify(gzip)(body) })
  }
  const modules = [...texts].filter(([, { contentType }]) => contentType === script).map(([path]) => path)
  return {
    files,
    digest: hash.digest('hex').slice(0, 16),
    main,
    preloads: modules.filter((path) => path !== main && !lazy.includes(path)),
  }
}

function vendorPath(name: string): string {
  return `vendor/${name.replace('/', '-')}.js`
}

/** The folder of a package whose `exports` may hide its files. */
function locate(file: string): string {
  const require = createRequire(import.meta.url)
  const [name = '', ...rest] = file.split('/')
  for (const folder of require.resolve.paths(name) ?? []) {
    try {
      return join(dirname(require.resolve(join(folder, name, 'package.json'))), ...rest)
    } catch {
      // Not in this folder: the next one up.
    }
  }
  throw new Error(`The package ${name} is not installed; the dashboard needs its file ${rest.join('/')}.`)
}

async function moduleOf(url: URL, path: string): Promise<{ readonly contentType: string; readonly text: string }> {
  const source = await readFile(url, 'utf8')
  const text = url.pathname.endsWith('.ts') ? stripped(source) : source.replace(/\n\/\/# sourceMappingURL=.*\s*$/, '\n')
  return { contentType: script, text: rewritten(text, path) }
}

/** Node runs these very sources by the same means and says nothing; here it would call it experimental. */
function stripped(source: string): string {
  const { emitWarning } = process
  process.emitWarning = () => {}
  try {
    return stripTypeScriptTypes(source)
  } finally {
    process.emitWarning = emitWarning
  }
}

/** A browser finds modules by their address only: names of packages become relative paths. */
function rewritten(text: string, path: string): string {
  const up = '../'.repeat(path.split('/').length - 1) || './'
  return text.replace(/(\bfrom\s*|\bimport\s*\(\s*|\bimport\s*)(["'])([\w/-]+)\2/g, (whole, before, quote, name) =>
    Object.hasOwn(vendors, name) ? `${before}${quote}${up}${vendorPath(name)}${quote}` : whole,
  )
}

const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="8" fill="#0b6a86"/><path d="M6 11c3.3 0 3.3 2.6 6.7 2.6S16 11 19.3 11s3.3 2.6 6.7 2.6M6 17c3.3 0 3.3 2.6 6.7 2.6S16 17 19.3 17s3.3 2.6 6.7 2.6" fill="none" stroke="#fff" stroke-width="2.6" stroke-linecap="round"/></svg>`
