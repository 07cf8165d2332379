import assert from 'node:assert/strict'
import { mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { systemClock } from '../clock.ts'
import { isSluiceError } from '../errors.ts'
import { openAccess } from './token-file.ts'

describe('the file of tokens', () => {
  let folder: string
  let file: string
  let aheadMs = 0
  const system = systemClock()
  const clock = { ...system, now: () => system.now() + aheadMs }
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-tokens-'))
    file = join(folder, 'tokens.json')
  })
  after(() => rm(folder, { recursive: true }))

  test('is shared by processes: what one changes another sees within a second', async () => {
    const [server, command] = [openAccess({ file, clock }), openAccess({ file, clock })]
    assert.equal(await server.isEmpty(), true)
    const { secret } = await command.create({ name: 'ops', role: 'operator', createdBy: 'me' })
    aheadMs += 1_000
    assert.equal((await server.find(secret))?.name, 'ops')
    await command.revoke('ops')
    aheadMs += 1_000
    assert.equal(await server.find(secret), null)
    await assert.rejects(command.revoke('ops'), (error) => isSluiceError(error, 'not_found'))
  })

  test('loses no change of several who write at once', async () => {
    const commands = Array.from({ length: 8 }, () => openAccess({ file, clock }))
    await Promise.all(commands.map((one, index) => one.create({ name: `t${index}`, role: 'admin', createdBy: 'me' })))
    const names = (await openAccess({ file, clock }).list()).map(({ name }) => name)
    assert.deepEqual(names.toSorted(), ['t0', 't1', 't2', 't3', 't4', 't5', 't6', 't7'])
    assert.deepEqual(await readdir(folder), ['tokens.json'], 'no lock or half file is left')
  })

  test('passes over the lock of somebody who died with it', async () => {
    await writeFile(`${file}.lock`, '')
    const old = new Date(system.now() - 60_000)
    await utimes(`${file}.lock`, old, old)
    await openAccess({ file, clock }).create({ name: 'after', role: 'admin', createdBy: 'me' })
  })

  test('that cannot be read lets nobody in', async () => {
    const access = openAccess({ file, clock })
    const { secret } = await access.create({ name: 'last', role: 'admin', createdBy: 'me' })
    assert.ok(await access.find(secret))
    await writeFile(file, '{"tokens": [')
    aheadMs += 1_000
    await assert.rejects(access.find(secret), /cannot be read/)
    await assert.rejects(access.find(secret), /cannot be read/, 'also the next time')
    assert.throws(() => openAccess({ file, clock }), /Nobody can log in/)
  })
})
