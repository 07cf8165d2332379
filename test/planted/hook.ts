import { appendFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { plant } from './bug.ts'
import { bugs } from './bugs.ts'

/**
 * Loaded by --import into every process and thread of a run. Plants the bug that the environment names when its file is
 * loaded, before the types are stripped, and says so: a run that never loaded the file has proved nothing.
 */
const name = process.env.SLUICE_PLANTED
const report = process.env.SLUICE_PLANTED_REPORT
if (name === undefined || report === undefined) {
  throw new Error('SLUICE_PLANTED names the bug to plant, SLUICE_PLANTED_REPORT the file to say so in; one is missing.')
}
const bug = bugs.find((known) => known.name === name)
if (!bug) throw new Error(`There is no planted bug ${name}.`)
const target = new URL(`../../${bug.file}`, import.meta.url).href

registerHooks({
  load(url, context, nextLoad) {
    const loaded = nextLoad(url, context)
    if (url !== target) return loaded
    const { source } = loaded
    if (source === undefined || source === null) throw new Error(`${url} was loaded without its source.`)
    const text = typeof source === 'string' ? source : new TextDecoder().decode(source)
    const planted = plant(bug, text)
    appendFileSync(report, `planted: ${bug.name}\n`)
    return { ...loaded, source: planted }
  },
})
