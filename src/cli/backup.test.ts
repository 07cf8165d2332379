import assert from 'node:assert/strict'
import { copyFileSync, existsSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { newFolder, type Running, removeFolders, resultIn, sluice, start, written } from './command-process.ts'

after(removeFolders)

const items = (count: number) =>
  JSON.stringify(Array.from({ length: count }, (_, id) => ({ id: id + 1, type: 'story' })))

async function served(cwd: string): Promise<Running & { readonly address: string }> {
  const server = start(cwd, ['serve', '--listen', '127.0.0.1:0', '--json'])
  const { url } = JSON.parse((await server.told(/^\{.*\}\n/)) ?? 'null') as { url: string }
  return { ...server, address: url }
}

async function stopped(server: Running): Promise<void> {
  server.process.kill('SIGTERM')
  await server.ending
}

async function rootsIn(cwd: string): Promise<number> {
  const { entities } = resultIn(await sluice(cwd, 'list', '--json')) as unknown as { entities: unknown[] }
  return entities.length
}

describe('backup and restore', () => {
  test('a backup of a store in use is whole; it is restored when no process uses the store', async () => {
    const cwd = newFolder()
    written(cwd, 'one.json', items(3))
    written(cwd, 'two.json', items(4))
    await sluice(cwd, 'upload', 'run', 'one.json', '--quiet')
    const server = await served(cwd)
    try {
      const copied = await sluice(cwd, 'backup', 'copy.db')
      assert.equal(copied.status, 0, copied.err)
      assert.deepEqual((await sluice(cwd, 'backup', 'copy.db')).status, 5, 'a backup is never overwritten')
      const early = await sluice(cwd, 'restore', 'copy.db')
      assert.equal(early.status, 5)
      assert.match(early.err, /Another process uses .*sluice\.db\. Stop every process that does/)
    } finally {
      await stopped(server)
    }
    await sluice(cwd, 'upload', 'run', 'two.json', '--quiet')
    assert.equal(await rootsIn(cwd), 2)
    const restored = resultIn(await sluice(cwd, 'restore', 'copy.db', '--json')) as { kept: string }
    assert.equal(await rootsIn(cwd), 1)
    assert.ok(existsSync(join(cwd, restored.kept)), 'the store that was there is kept')
    const doctor = await sluice(cwd, 'doctor', '--full')
    assert.match(doctor.out, /no fault found/)
    assert.deepEqual(
      readdirSync(cwd).filter((name) => /\.(part|restoring)/.test(name)),
      [],
    )
  })

  test('what is no store is refused, and the store stays as it was', async () => {
    const cwd = newFolder()
    written(cwd, 'one.json', items(3))
    await sluice(cwd, 'upload', 'run', 'one.json', '--quiet')
    written(cwd, 'letter.db', 'This is a letter, not a database. '.repeat(100))
    const refused = await sluice(cwd, 'restore', 'letter.db')
    assert.deepEqual([refused.status, /letter\.db is no SQLite database/.test(refused.err)], [2, true])
    assert.equal((await sluice(cwd, 'restore', 'nowhere.db')).status, 4)
    assert.equal(await rootsIn(cwd), 1)
  })
})

test('a server whose store file is replaced says so, is not ready, and leaves the new file as it is', async () => {
  const cwd = newFolder()
  written(cwd, 'one.json', items(3))
  await sluice(cwd, 'upload', 'run', 'one.json', '--quiet')
  await sluice(cwd, 'backup', 'copy.db')
  const server = await served(cwd)
  try {
    assert.equal((await fetch(`${server.address}/ready`)).status, 200)
    copyFileSync(join(cwd, 'copy.db'), join(cwd, 'hasty.db'))
    renameSync(join(cwd, 'hasty.db'), join(cwd, 'sluice.db'))
    assert.equal((await fetch(`${server.address}/ready`)).status, 503)
    assert.ok(await server.heard(/sluice\.db was replaced by another file/), 'the log says it')
  } finally {
    await stopped(server)
  }
  assert.match((await sluice(cwd, 'doctor', '--full')).out, /no fault found/)
  assert.equal(await rootsIn(cwd), 1)
})
