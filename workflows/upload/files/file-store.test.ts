import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, beforeEach, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { isSluiceError } from 'sluice'
import { sanitiseFileName } from './file-name.ts'
import { fileSource } from './file-source.ts'
import { FileStore } from './file-store.ts'
import { mayLive, processMark } from './process-mark.ts'
import { writeFault } from './temp-file.ts'

const base = mkdtempSync(join(tmpdir(), 'sluice-store-'))
after(() => rmSync(base, { recursive: true }))
let folder = base
let count = 0
beforeEach(() => {
  count += 1
  folder = join(base, String(count))
})

async function* chunksOf(bytes: Buffer, size = 1_000): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const digest = (algorithm: string, bytes: Buffer) => createHash(algorithm).update(bytes).digest('hex')
const invalid = (pattern: RegExp) => (error: unknown) => isSluiceError(error, 'invalid') && pattern.test(error.message)

describe('receiving', () => {
  test('a plain file is stored as it is, under its digest', async () => {
    const bytes = Buffer.from(`[${'{"id":1,"type":"job"},'.repeat(60_000)}null]`)
    const progress: number[] = []
    const store = new FileStore({ folder })
    const stored = await store.receive(chunksOf(bytes, 70_000), {
      fileName: '../../etc/items.json',
      onProgress: (received) => progress.push(received),
    })
    assert.deepEqual(stored, {
      sha256: digest('sha256', bytes),
      md5: digest('md5', bytes),
      fileSize: bytes.length,
      storedBytes: bytes.length,
      storedSha256: digest('sha256', bytes),
      contentType: 'application/json',
      fileName: 'items.json',
      gzip: false,
    })
    assert.deepEqual(readdirSync(folder), [stored.sha256])
    assert.ok(readFileSync(store.pathOf(stored.sha256)).equals(bytes))
    assert.equal(progress.at(-1), bytes.length)
    assert.ok(progress.length >= 3 && progress.every((value, index) => index === 0 || value >= progress[index - 1]!))
    const reader = store.open(stored.sha256)
    assert.equal(reader.read(1, 21).toString(), '{"id":1,"type":"job"}')
    reader.close()
    assert.equal(store.exists(stored.sha256), true)
    await store.remove(stored.sha256)
    await store.remove(stored.sha256)
    assert.equal(store.exists(stored.sha256), false)
  })

  test('gzip, also of several members, is stored inflated; digests and size are of what came', async () => {
    const parts = ['{"id":1,"type":"job"}\n'.repeat(50_000), '{"id":2,"type":"job"}\n'].map((text) => Buffer.from(text))
    const bytes = Buffer.concat(parts.map((part) => gzipSync(part)))
    const store = new FileStore({ folder })
    for (const size of [1, 7, 100_000]) {
      const stored = await store.receive(chunksOf(bytes, size), { fileName: 'a.gz', contentType: 'application/gzip' })
      assert.deepEqual(
        [stored.sha256, stored.md5, stored.fileSize, stored.storedBytes, stored.gzip, stored.contentType],
        [digest('sha256', bytes), digest('md5', bytes), bytes.length, 50_001 * 22, true, 'application/x-ndjson'],
      )
      assert.ok(readFileSync(store.pathOf(stored.sha256)).equals(Buffer.concat(parts)))
      await store.remove(stored.sha256)
    }
  })

  test('any bytes in any chunks come out as they went in', async () => {
    const store = new FileStore({ folder })
    const chunks = fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 10 })
    await fc.assert(
      fc.asyncProperty(chunks, fc.boolean(), async (chunks, gzip) => {
        const plain = Buffer.concat(chunks)
        fc.pre(gzip || plain[0] !== 0x1f)
        const sent = gzip ? gzipSync(plain) : plain
        const stored = await store.receive(chunksOf(sent, 7), { fileName: 'x' })
        assert.equal(stored.gzip, gzip)
        assert.ok(readFileSync(store.pathOf(stored.sha256)).equals(plain))
      }),
      { numRuns: 30 },
    )
  })

  test('an empty file has size 0', async () => {
    const stored = await new FileStore({ folder }).receive(chunksOf(Buffer.alloc(0)), { fileName: 'empty.json' })
    assert.deepEqual([stored.fileSize, stored.storedBytes, stored.contentType], [0, 0, 'application/json'])
  })

  test('the same content again gives the same file; a damaged one is replaced, whatever its length', async () => {
    const store = new FileStore({ folder })
    const bytes = Buffer.from('[{"id":1,"type":"job"}]')
    const first = await store.receive(chunksOf(bytes), { fileName: 'a.json' })
    const [again, beside] = await Promise.all(
      ['b.json', 'c.json'].map((fileName) => store.receive(chunksOf(bytes), { fileName })),
    )
    assert.deepEqual(
      [again, beside],
      [
        { ...first, fileName: 'b.json' },
        { ...first, fileName: 'c.json' },
      ],
    )
    assert.deepEqual(readdirSync(folder), [first.sha256])
    for (const damaged of ['[{"id"', bytes.toString().replace('1', '2')]) {
      writeFileSync(store.pathOf(first.sha256), damaged)
      await store.receive(chunksOf(bytes), { fileName: 'a.json' })
      assert.ok(readFileSync(store.pathOf(first.sha256)).equals(bytes))
    }
  })
})

test('a file on this machine is received through memory that is used again', async () => {
  const path = join(base, 'source.json')
  const bytes = Buffer.from(`[${Array.from({ length: 200_000 }, (_, index) => index).join(',')}]`)
  writeFileSync(path, bytes)
  const stored = await new FileStore({ folder }).receive(fileSource(path), { fileName: path })
  assert.deepEqual([stored.sha256, stored.fileSize], [digest('sha256', bytes), bytes.length])
  assert.ok(readFileSync(join(folder, stored.sha256)).equals(bytes))
  const read = (name: string) => new FileStore({ folder }).receive(fileSource(name), { fileName: name })
  await assert.rejects(read(join(base, 'nowhere')), (error) => isSluiceError(error, 'not_found'))
  await assert.rejects(read(base), invalid(/is a folder/))
  assert.deepEqual(readdirSync(folder), [stored.sha256])
})

test('a file that changes its length while it is read is refused, also when it is cut at the end of a line', async () => {
  const path = join(base, 'changing.ndjson')
  const line = `{"id":1,"type":"job","title":"${'t'.repeat(998)}"}\n`
  for (const change of [
    () => truncateSync(path, line.length * 400),
    () => truncateSync(path, line.length * 100),
    () => appendFileSync(path, line),
  ]) {
    writeFileSync(path, line.repeat(1_000))
    async function* changing() {
      let block = 0
      for await (const bytes of fileSource(path)) {
        yield bytes
        block += 1
        if (block === 1) change()
      }
    }
    const received = new FileStore({ folder }).receive(changing(), { fileName: path })
    await assert.rejects(received, invalid(/was changed while it was read/))
  }
  assert.deepEqual(readdirSync(folder), [])
})

describe('refusals leave nothing behind', () => {
  const limits = { fileBytesMax: 100_000 }
  const refused = async (bytes: Buffer, pattern: RegExp, size = 1_000) => {
    const store = new FileStore({ folder, limits })
    await assert.rejects(store.receive(chunksOf(bytes, size), { fileName: 'x' }), invalid(pattern))
    assert.deepEqual(readdirSync(folder), [])
  }

  test('a file that is said to be too big is not even asked for', async () => {
    const store = new FileStore({ folder, limits })
    let asked = false
    const source = (async function* () {
      asked = true
      yield Buffer.alloc(1)
    })()
    await assert.rejects(
      store.receive(source, { fileName: 'x', expectedBytes: 100_001 }),
      invalid(/^The file has 100001 bytes; at most 100000 are taken\.$/),
    )
    assert.equal(asked, false)
    await assert.rejects(store.receive(source, { fileName: 'x', expectedBytes: -1 }), invalid(/expectedBytes/))
  })

  test('a file that is not the one that was announced', async () => {
    const store = new FileStore({ folder, limits })
    const bytes = Buffer.from('[{"id":1,"type":"story"}]')
    const send = (announced: object) => store.receive(chunksOf(bytes, 10), { fileName: 'x', ...announced })
    await assert.rejects(
      send({ expectedBytes: 90_000 }),
      invalid(/^The file is incomplete: 25 bytes arrived, 90000 were announced\. Send it again from its beginning\.$/),
    )
    await assert.rejects(
      send({ expectedBytes: 24 }),
      invalid(/^The file goes on after the 24 bytes that were announced\. Was it changed/),
    )
    const other = Buffer.from('[]')
    for (const algorithm of ['sha256', 'md5']) {
      const message = new RegExp(
        `^The ${algorithm} of what arrived is ${digest(algorithm, bytes)}, not ${digest(algorithm, other)}`,
      )
      await assert.rejects(send({ [algorithm]: digest(algorithm, other) }), invalid(message))
      await assert.rejects(
        send({ [algorithm]: 'abc' }),
        invalid(new RegExp(`^${algorithm} must be .* hexadecimal digits`)),
      )
    }
    assert.deepEqual(readdirSync(folder), [])
    const said = { sha256: digest('sha256', bytes).toUpperCase(), md5: digest('md5', bytes) }
    assert.equal((await send({ expectedBytes: 25, ...said })).fileSize, 25)
    // Announced is what is sent, not what it becomes.
    const packed = gzipSync(bytes)
    const gzip = { fileName: 'x', expectedBytes: packed.length, sha256: digest('sha256', packed) }
    assert.equal((await store.receive(chunksOf(packed), gzip)).storedBytes, 25)
  })

  test('a file that turns out too big is not read to its end', async () => {
    let sent = 0
    const endless = (async function* () {
      for (;;) {
        sent += 1_000
        yield Buffer.alloc(1_000, 'x')
      }
    })()
    const store = new FileStore({ folder, limits })
    await assert.rejects(store.receive(endless, { fileName: 'x' }), invalid(/more than the 100000 bytes/))
    assert.equal(sent, 101_000)
    assert.deepEqual(readdirSync(folder), [])
  })

  test('a gzip bomb', () => refused(gzipSync(Buffer.alloc(20_000_000)), /inflates to more than the 100000 bytes/))
  test('a truncated gzip file', async () => {
    const bytes = gzipSync(Buffer.from('{"id":1}'.repeat(1_000)))
    for (const length of [2, 11, 50, bytes.length - 1]) await refused(bytes.subarray(0, length), /truncated/)
  })
  test('a broken gzip file', async () => {
    const bytes = gzipSync(Buffer.from('{"id":1}'.repeat(1_000)))
    bytes[bytes.length - 6]! ^= 1
    await refused(bytes, /broken \(incorrect data check\)/)
  })
  test('gzip and then something else', async () => {
    const bytes = gzipSync(Buffer.from('[]'))
    await refused(Buffer.concat([bytes, Buffer.from('rubbish')]), /broken/)
    for (const size of [5, 10_000]) {
      const padded = Buffer.concat([bytes, Buffer.alloc(3_000), gzipSync(Buffer.from('[1]'))])
      await refused(padded, new RegExp(`After byte ${bytes.length} .* not gzip`), size)
    }
  })

  test('a sender that breaks off, or a disk that has no room', async () => {
    const store = new FileStore({ folder, limits: { fileBytesMax: Number.MAX_SAFE_INTEGER } })
    for (const begin of [Buffer.from('[1,'), gzipSync(Buffer.alloc(1_000_000)).subarray(0, 500)]) {
      const source = (async function* () {
        yield begin
        throw new Error('socket hang up')
      })()
      await assert.rejects(store.receive(source, { fileName: 'x' }), /^Error: socket hang up$/)
    }
    await assert.rejects(
      store.receive(chunksOf(Buffer.alloc(1)), { fileName: 'x', expectedBytes: 2 ** 52 }),
      /only \d+ are free on the disk/,
    )
    assert.deepEqual(readdirSync(folder), [])
    const full = writeFault(Object.assign(new Error('no space left'), { code: 'ENOSPC' }), '/data', 12)
    assert.match(full.message, /^The disk of \/data is full \(ENOSPC\) after 12 bytes; nothing was kept\./)
  })

  test('a name that is not a digest never becomes a path', () => {
    const store = new FileStore({ folder })
    for (const name of ['', '..', '../x', 'A'.repeat(64), `${'a'.repeat(63)}/`]) {
      assert.throws(() => store.pathOf(name), invalid(/64 hexadecimal digits/))
    }
  })
})

describe('what a crash leaves', () => {
  test('is removed by the next open, but never what a living process receives', async () => {
    const script = `
      const { FileStore } = await import(${JSON.stringify(new URL('./file-store.ts', import.meta.url).href)})
      const store = new FileStore({ folder: ${JSON.stringify(folder)} })
      const source = (async function* () {
        yield Buffer.alloc(1_000_000)
        console.log('receiving')
        await new Promise(() => setInterval(() => {}, 1_000))
      })()
      await store.receive(source, { fileName: 'x' })`
    const child = spawn(process.execPath, ['--conditions=sluice-source', '--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    await once(child.stdout, 'data')
    new FileStore({ folder })
    assert.equal(readdirSync(folder).length, 1)
    child.kill('SIGKILL')
    await once(child, 'exit')
    new FileStore({ folder })
    assert.deepEqual(readdirSync(folder), [])
  })

  test('a process is known by more than its number', () => {
    const [host, pid, start] = processMark().split('-')
    assert.equal(mayLive(`${host}-${pid}-${start}`), true)
    if (start !== 'x') assert.equal(mayLive(`${host}-${pid}-${Number(start) + 1}`), false)
    assert.equal(mayLive(`${host}-4194305-1`), false)
    assert.equal(mayLive(`${digest('sha256', Buffer.from(`${hostname()}.`)).slice(0, 12)}-4194305-1`), true)
  })

  test('other files in the folder are left alone', () => {
    new FileStore({ folder })
    for (const name of ['notes.tmp', 'receiving-me.tmp']) writeFileSync(join(folder, name), '')
    new FileStore({ folder })
    assert.deepEqual(readdirSync(folder), ['notes.tmp', 'receiving-me.tmp'])
  })
})

test('a file name is a label', () => {
  const cases = [
    ['items.json', 'items.json'],
    ['C:\\data\\items.json', 'items.json'],
    ['/etc/passwd', 'passwd'],
    ['..', 'file'],
    ['a/', 'file'],
    ['', 'file'],
    ['a\0b\n\u001b[31mc\u202Egpj', 'ab[31mcgpj'],
    ['  ünï 🙂.json ', 'ünï 🙂.json'],
    ['x'.repeat(300), 'x'.repeat(255)],
  ] as const
  for (const [given, expected] of cases) assert.equal(sanitiseFileName(given), expected)
  assert.equal(sanitiseFileName(`${'x'.repeat(254)}🙂`).isWellFormed(), true)
})

test('a folder that cannot be made says why', (t) => {
  const disk = mkdtempSync(join(tmpdir(), 'sluice-read-only-'))
  const { status } = spawnSync('mount', ['-t', 'tmpfs', '-o', 'ro,size=1m', 'none', disk])
  if (status !== 0) return t.skip('only root may mount a disk')
  try {
    const refused = /The folder .*uploads cannot be made: its disk is read only\.$/
    assert.throws(() => new FileStore({ folder: join(disk, 'uploads', 'files') }), refused)
  } finally {
    spawnSync('umount', [disk])
    rmdirSync(disk)
  }
})
