/**
 * npm run try-package: packs what would be published, installs it into an empty project and uses it as its user would: hello world, the command
 * line, the dashboard. What works from the sources alone is found here. Nothing is fetched that `npm ci` has not fetched already.
 */
import assert from 'node:assert/strict'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { LockedPackages } from '../test/dependencies.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const project = mkdtempSync(join(tmpdir(), 'sluice-package-'))
const command = join(project, 'node_modules', '.bin', 'sluice')

async function run(file: string, words: readonly string[], cwd = project): Promise<string> {
  const { stdout } = await promisify(execFile)(file, words, { cwd, maxBuffer: 64 * 1024 * 1024 })
  return stdout
}

interface Packed {
  readonly filename: string
  readonly integrity: string
  readonly files: readonly { readonly path: string }[]
}

async function packed(): Promise<Packed> {
  const text = await run('npm', ['pack', '--json', '--pack-destination', project], root)
  const [pack] = JSON.parse(text.slice(text.indexOf('['))) as Packed[]
  assert.ok(pack)
  const paths = new Set(pack.files.map(({ path }) => path))
  for (const path of [
    'dist/src/index.js',
    'dist/src/index.d.ts',
    'dist/src/cli/main.js',
    'bin/sluice.mjs',
    'README.md',
  ])
    assert.ok(paths.has(path), `${path} is not packed.`)
  assert.ok(![...paths].some((path) => path.endsWith('.test.js')), 'Tests are packed.')
  return pack
}

/** With the versions that the lockfile of this repository names: they are the ones that npm has in its cache. */
function writeProject({ filename, integrity }: Packed): void {
  const { name, version, dependencies, bin, engines } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as { packages: LockedPackages }
  const own = {
    name: 'try-package',
    version: '1.0.0',
    private: true,
    // As npm init writes it.
    type: 'commonjs',
    dependencies: { [name]: `file:${filename}` },
  }
  const installed = Object.entries(packages).filter(([path, { dev }]) => path !== '' && !dev)
  const lockfile = {
    name: own.name,
    version: own.version,
    lockfileVersion: 3,
    requires: true,
    packages: {
      '': own,
      [`node_modules/${name}`]: { version, resolved: `file:${filename}`, integrity, dependencies, bin, engines },
      ...Object.fromEntries(installed),
    },
  }
  writeFileSync(join(project, 'package.json'), JSON.stringify(own))
  writeFileSync(join(project, 'package-lock.json'), JSON.stringify(lockfile))
  copyFileSync(join(root, 'examples', 'hello.ts'), join(project, 'hello.mts'))
}

async function tryHello(): Promise<void> {
  assert.equal(await run(process.execPath, ['hello.mts']), 'Hello, world!\nGreeting 1 is sent.\n')
}

async function tryCommands(): Promise<void> {
  assert.match(await run(command, ['--version']), /^\d+\.\d+\.\d+\n$/)
  await run(command, ['upload', 'sample', 'items.json', '--items', '200', '--quiet'])
  const result = JSON.parse(
    await run(command, ['upload', 'run', 'items.json', '--folder', 'data', '--json', '--quiet']),
  )
  assert.deepEqual([result.state, result.completed], ['completed', 200])
  assert.match(await run(command, ['status', '--folder', 'data']), /upload_batch/)
  assert.match(await run(command, ['doctor', '--folder', 'data']), /All is well\.\n$/)
}

async function tryDashboard(): Promise<void> {
  mkdirSync(join(project, 'served'))
  const server = spawn(command, ['serve', '--listen', '127.0.0.1:0', '--folder', 'served', '--json'], {
    cwd: project,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(server, 'close')
  try {
    const [line] = (await Promise.race([once(createInterface({ input: server.stdout }), 'line'), ended])) as [unknown]
    assert.equal(typeof line, 'string', 'The server ended before it listened.')
    const { url } = JSON.parse(String(line)) as { url: string }
    const page = await textAt(url)
    const assets = [...page.matchAll(/(?:src|href)="([^"#]+)"/g)].map(([, path = '']) => new URL(path, `${url}/`).href)
    assert.ok(assets.some((asset) => asset.endsWith('.js')) && assets.some((asset) => asset.endsWith('.css')), page)
    for (const asset of assets) await textAt(asset)
    assert.ok(JSON.parse(await textAt(`${url}/api/machines`)))
  } finally {
    server.kill('SIGTERM')
  }
  assert.deepEqual(await ended, [0, null])
}

async function textAt(url: string): Promise<string> {
  const answer = await fetch(url)
  assert.equal(answer.status, 200, url)
  return answer.text()
}

try {
  writeProject(await packed())
  await run('npm', ['ci', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'])
  assert.ok(!existsSync(join(project, 'node_modules', 'sluice', 'src')))
  await tryHello()
  await tryCommands()
  await tryDashboard()
  console.log('The package can be installed and used: hello world, the command line, the dashboard.')
} finally {
  rmSync(project, { recursive: true, force: true })
}
