import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { type PostgresServer, skip, startPostgres } from './server.ts'

/**
 * What is told of the families, the API and several processes, told again on PostgreSQL: each of these files runs as it is, in a process of its
 * own, and whatever it would keep in a file or in memory is kept in a database of its own (SLUICE_TEST_STORE, test/durable-store.ts).
 * The longest come first, so that none is left over at the end.
 */
const whole = [
  'workflows/chunked/fhir/jobs/import-crash.test.ts',
  'test/two-processes.test.ts',
  'test/upload-crash.test.ts',
  'test/poison.test.ts',
  'workflows/upload/upload.test.ts',
  'workflows/upload/lifecycle.test.ts',
  'workflows/upload/finding.test.ts',
  'workflows/upload/bad-input.test.ts',
  'workflows/upload/notifying.test.ts',
  'workflows/upload/merging.test.ts',
]
/** Of these only what they tell once for each store: the rest lives in virtual time, or would be the same on any. */
const byStore = [
  'workflows/chunked/bad-input.test.ts',
  'workflows/chunked/lifecycle.test.ts',
  'workflows/chunked/reducing.test.ts',
  'workflows/chunked/fhir/jobs/import-job.test.ts',
  'workflows/chunked/fhir/jobs/import-urls.test.ts',
  'workflows/chunked/fhir/jobs/export-job.test.ts',
  'workflows/chunked/fhir/jobs/reindex-job.test.ts',
  'workflows/chunked/attachments.test.ts',
  'workflows/chunked/cancelling.test.ts',
  'workflows/chunked/gates.test.ts',
  'workflows/chunked/handlers.test.ts',
  'workflows/chunked/limits.test.ts',
  'workflows/chunked/outcome.test.ts',
  'workflows/chunked/rerunning.test.ts',
  'workflows/chunked/starting.test.ts',
  'workflows/chunked/versions.test.ts',
  'test/http-access.test.ts',
  'test/http-events.test.ts',
  'test/http-idempotency.test.ts',
  'test/http-routes.test.ts',
  'test/odd-text.test.ts',
]
const root = fileURLToPath(new URL('../../', import.meta.url))
const fileMs = 240_000
const shownMax = 6_000

describe('on PostgreSQL', { skip, concurrency: 2 }, () => {
  let server: PostgresServer
  let cacheFolder: string

  before(async () => {
    cacheFolder = await mkdtemp(join(tmpdir(), 'sluice-families-'))
    server = await startPostgres()
  })
  after(async () => {
    await server?.close()
    await rm(cacheFolder, { recursive: true, force: true })
  })

  for (const file of [...whole, ...byStore]) {
    test(file, async () => {
      const url = await server.database()
      // Types are stripped once for all files, by whoever is first.
      const { code, said } = await run(file, { SLUICE_TEST_STORE: url, NODE_COMPILE_CACHE: cacheFolder })
      assert.equal(code, 0, `It said:\n${said.slice(-shownMax)}`)
      assert.doesNotMatch(said, /# (SKIP|TODO)\b/, 'Every test of it must run.')
      assert.match(said, /^# pass [1-9]/m, 'No test of it ran.')
      const schemas = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'test\\_%'"
      assert.notEqual(await server.psql(schemas, url), '0', 'It kept nothing in PostgreSQL.')
    })
  }
})

interface Ending {
  readonly code: number | null
  readonly said: string
}

/** Runs one file of tests, with these variables in its environment. */
function run(file: string, variables: Readonly<Record<string, string>>): Promise<Ending> {
  // The file reports to us as text, not to the runner that started us.
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env
  const named = byStore.includes(file) ? ['--test-name-pattern=postgres'] : []
  const child = spawn(process.execPath, ['--conditions=sluice-source', '--test-reporter=tap', ...named, file], {
    cwd: root,
    env: { ...environment, ...variables },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, so that the processes which it starts can be ended with it.
    detached: true,
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  const end = () => {
    if (child.pid && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
  }
  const timer = setTimeout(() => {
    said += `\nIt was ended after ${fileMs} ms.`
    end()
  }, fileMs)
  process.once('exit', end)
  return new Promise<Ending>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, said }))
  }).finally(() => {
    clearTimeout(timer)
    process.off('exit', end)
  })
}
