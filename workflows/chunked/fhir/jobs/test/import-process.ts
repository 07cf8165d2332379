import { join } from 'node:path'
import { pino } from 'pino'
import { openSluice } from 'sluice'
import { openChunked } from 'sluice/chunked'
import { durableStore } from '../../../test/durable-store.ts'
import { fhirJobs } from '../fhir-jobs.ts'

/** Works on one import, whoever began it, and is killed when so many groups are stored. Says what the job came to. */
const [folder = '', input = '', killAfter = ''] = process.argv.slice(2)
const limits = { rangeBytes: 40_000, groupLines: 20, retryMs: 1 }
const jobs = await fhirJobs({ folder: join(folder, 'fhir'), limits })
const { desk } = jobs
const really = desk.import.bind(desk)
let groups = 0
desk.import = async (group) => {
  const answer = await really(group)
  groups += 1
  // The group is stored, and nobody has been told: a good moment to die.
  if (groups === Number(killAfter)) process.kill(process.pid, 'SIGKILL')
  return answer
}
const chunked = openChunked({ definitions: jobs.definitions })
// What a dead process held is taken over soon; but a machine with much to do must not make a living one look dead.
const engineLimits = { leaseMs: 4_000, renewMs: 300, pollMs: 50 }
const store = durableStore(join(folder, 'sluice.db'), engineLimits)
const sluice = await openSluice({
  store,
  implementations: chunked.implementations,
  limits: engineLimits,
  log: pino({ level: 'silent' }),
})
const { id } = await chunked.start(sluice, 'fhir-import', { inputs: [{ folder: input }] }, { key: 'one' })
await sluice.settled(id)
const view = await chunked.job(sluice, id)
const drift = await sluice.check([id, null])
await sluice.stop()
await store.close()
await jobs.stop()
process.stdout.write(JSON.stringify({ state: view.state, error: view.errorMessage, report: view.report, drift }))
