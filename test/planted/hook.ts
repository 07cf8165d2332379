import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { plant } from './bug.ts'
import { bugs } from './bugs.ts'

/**
 * Loaded by --import into every process and thread of a run. Plants the bug that SLUICE_PLANTED names when its file is
 * loaded, before the types are stripped, and says so: a run that never loaded the file has proved nothing. By hand:
 * SLUICE_PLANTED=lease-revived node --import ./test/planted/hook.ts --conditions=sluice-source test/stores.test.ts
 */
const name = process.env.SLUICE_PLANTED
/** A file, for whoever starts processes whose output is not his. */
const report = process.env.SLUICE_PLANTED_REPORT
const bug = bugs.find((known) => known.name === name)
if (!bug) throw new Error(`SLUICE_PLANTED names the bug to plant; there is none called ${name}.`)
const target = new URL(`../../${bug.file}`, import.meta.url).href

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    if (url !== target) return loaded
    const { source } = loaded
    if (source === undefined || source === null) throw new Error(`${url} was loaded without its source.`)
    const text = typeof source === 'string' ? source : new TextDecoder().decode(source)
    const planted = plant(bug, text)
    if (report === undefined) process.stderr.write(`planted: ${bug.name}\n`)
    else appendFileSync(report, `planted: ${bug.name}\n`)
    return { ...loaded, source: planted }
  },
})
