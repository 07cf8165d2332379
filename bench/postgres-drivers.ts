/** The two drivers for PostgreSQL: speed in our statements' shapes, and what becomes of what was asked when a connection is lost. */
import { cutBetween, cutEverywhere, type Ends, failInside, fallSilent, killServer } from './postgres/cut.ts'
import { type Driver, drivers } from './postgres/driver.ts'
import { compareDrivers } from './postgres/drivers.ts'
import { installWords, missingPeers, versionOf } from './postgres/peer.ts'
import { startPostgres } from './postgres/server.ts'

const missing = missingPeers()
if (missing.length > 0) {
  console.error(`The peers are not installed (${missing.join(', ')}). Run: ${installWords}`)
  // Whoever runs all scenarios gets the figures of the others.
  console.log('{}')
  process.exit(0)
}

const quick = process.argv.includes('--quick')
const server = await startPostgres()
try {
  console.error(`  ${server.settings}`)
  for (const { name } of drivers) console.error(`  ${name} ${versionOf(name)}`)
  const figures: Record<string, number> = { ...(await compareDrivers(server, quick ? 3 : 9)) }
  const note = (what: string, { name }: Driver, { cases, unsettled, lies, unknown, stray }: Ends) => {
    figures[`${what}_unsettled_${name}`] = unsettled
    figures[`${what}_lies_${name}`] = lies
    figures[`${what}_stray_${name}`] = stray
    if (what === 'cut') console.error(`  ${name}: cut at ${cases} places, outcome unknown in ${unknown} of them`)
  }
  for (const driver of drivers) {
    const { right, of } = await failInside(driver, server)
    figures[`errors_inside_${driver.name}`] = right / of
    note('cut', driver, await cutEverywhere(driver, server, quick ? 7 : 1))
    note('torn', driver, await cutBetween(driver, server))
    note('silent', driver, await fallSilent(driver, server))
    note('killed', driver, await killServer(driver, server))
  }
  console.log(JSON.stringify(figures))
} finally {
  await server.stop()
}
