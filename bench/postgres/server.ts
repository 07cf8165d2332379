/** A PostgreSQL and a Redis of one's own, both durable, on free ports of the loopback interface, in folders that go with them. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Server {
  /** Of PostgreSQL without a database's name, of Redis as it stands. */
  readonly url: string
  /** Version and settings, in one line. */
  readonly settings: string
  readonly pid: number
  stop(): Promise<void>
  /** Without any warning, as a power cut would end it. Its folder stays, for `start`. */
  kill(): Promise<void>
  /** Again, on the same folder and port. */
  start(): Promise<void>
}

/** What differs from what PostgreSQL does by default. Durability is named although it is the default: it must not be off. */
const postgresSettings: Readonly<Record<string, string>> = {
  fsync: 'on',
  synchronous_commit: 'on',
  full_page_writes: 'on',
  shared_buffers: '256MB',
  max_wal_size: '4GB',
}

export async function startPostgres(more: Readonly<Record<string, string>> = {}): Promise<Server> {
  const bin = postgresFolder()
  const owner = unprivileged()
  const folder = ownFolder('sluice-bench-postgres-', owner)
  const data = join(folder, 'data')
  const version = execFileSync(join(bin, 'postgres'), ['--version'], { encoding: 'utf8' }).trim()
  const locale = ['-U', 'postgres', '--auth=trust', '-E', 'UTF8', '--locale=C.UTF-8']
  execFileSync(join(bin, 'initdb'), ['-D', data, ...locale], {
    ...owner,
    cwd: folder,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  const settings = { ...postgresSettings, ...more }
  const port = await freePort()
  const where = { listen_addresses: '127.0.0.1', port: String(port), unix_socket_directories: folder }
  const words = Object.entries({ ...settings, ...where }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  return run({
    program: join(bin, 'postgres'),
    words: ['-D', data, ...words],
    owner,
    folder,
    port,
    // SIGINT is PostgreSQL's fast shutdown: sessions are ended, nothing is lost.
    signal: 'SIGINT',
    url: `postgres://postgres@127.0.0.1:${port}`,
    settings: `${version}: ${wordsOf(settings)}`,
  })
}

export async function startRedis(): Promise<Server> {
  const owner = unprivileged('redis')
  const folder = ownFolder('sluice-bench-redis-', owner)
  const version = execFileSync('redis-server', ['--version'], { encoding: 'utf8' }).split(' sha=')[0]!
  const settings = { appendonly: 'yes', appendfsync: 'always' }
  const port = await freePort()
  const words = Object.entries({ ...settings, bind: '127.0.0.1', port, dir: folder, save: '' })
  return run({
    program: 'redis-server',
    words: words.flatMap(([name, value]) => [`--${name}`, String(value)]),
    owner,
    folder,
    port,
    signal: 'SIGTERM',
    url: `redis://127.0.0.1:${port}`,
    settings: `${version}: ${wordsOf(settings)}`,
  })
}

interface Running {
  readonly program: string
  readonly words: readonly string[]
  readonly owner: Owner
  readonly folder: string
  readonly port: number
  readonly signal: NodeJS.Signals
  readonly url: string
  readonly settings: string
}

async function run({ program, words, owner, folder, port, signal, url, settings }: Running): Promise<Server> {
  let child = await begin()
  // A benchmark that throws leaves no server behind.
  const end = () => {
    child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', end)
  process.once('SIGINT', leave).once('SIGTERM', leave)

  async function begin(): Promise<ChildProcess> {
    const child = spawn(program, words, { ...owner, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] })
    let last = ''
    const read = (block: Buffer) => {
      last = `${last}${block}`.slice(-2_000)
    }
    child.stdout.on('data', read)
    child.stderr.on('data', read)
    const failed = once(child, 'exit').then(() => {
      throw new Error(`${program} ended at its start: ${last}`)
    })
    await Promise.race([failed, listening(port, url)])
    failed.catch(() => {})
    return child
  }

  const finish = async (by: NodeJS.Signals) => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const ended = once(child, 'exit')
    child.kill(by)
    await ended
  }
  return {
    url,
    settings,
    get pid() {
      return child.pid!
    },
    kill: () => finish('SIGKILL'),
    async start() {
      child = await begin()
    },
    async stop() {
      await finish(signal)
      process.off('exit', end).off('SIGINT', leave).off('SIGTERM', leave)
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Who is told to end goes through what is to be done at the exit. */
function leave(signal: NodeJS.Signals): never {
  process.stderr.write(`Ended by ${signal}.\n`)
  process.exit(1)
}

/** Waits until the server takes connections: PostgreSQL also opens its port while it still recovers, so it is asked to begin a session. */
async function listening(port: number, url: string): Promise<void> {
  for (let tries = 0; tries < 600; tries += 1) {
    if (await (url.startsWith('postgres:') ? begins(port) : connects(port))) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`Nothing listens on port ${port} after 30 s.`)
}

function connects(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true))
    socket.on('error', () => resolve(false)).on('connect', () => socket.destroy())
  })
}

/** Sends a startup message; 'R' answers a session that may begin, 'E' one that may not yet. */
function begins(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const words = Buffer.from('user\0postgres\0database\0postgres\0\0')
    const head = Buffer.alloc(8)
    head.writeInt32BE(words.length + 8, 0)
    head.writeInt32BE(196_608, 4)
    const socket = connect(port, '127.0.0.1', () => socket.write(Buffer.concat([head, words])))
    const tell = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket
      .once('data', (block) => tell(block[0] === 0x52))
      .on('error', () => tell(false))
      .on('close', () => tell(false))
  })
}

interface Owner {
  readonly uid?: number
  readonly gid?: number
}

/** Root hands the server to an ordinary account, as PostgreSQL demands; anyone else runs it himself. */
function unprivileged(name = 'postgres'): Owner {
  if (process.getuid?.() !== 0) return {}
  const ask = (flag: string) => Number(execFileSync('id', [flag, name], { encoding: 'utf8' }))
  return { uid: ask('-u'), gid: ask('-g') }
}

function ownFolder(prefix: string, owner: Owner): string {
  // The same choice as for the other scenarios: a folder that lies in memory would make durability free.
  const folder = mkdtempSync(join(process.env.SLUICE_BENCH_FOLDER ?? tmpdir(), prefix))
  if (owner.uid !== undefined && owner.gid !== undefined) chownSync(folder, owner.uid, owner.gid)
  return folder
}

/** Where Debian keeps the newest version's programs. */
function postgresFolder(): string {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).map(Number) : []
  const newest = versions
    .sort((one, other) => other - one)
    .find((version) => existsSync(`${root}/${version}/bin/initdb`))
  if (newest === undefined) throw new Error('PostgreSQL is not installed. Run: npm run services -- postgres redis')
  return `${root}/${newest}/bin`
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

function wordsOf(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name} ${value}`)
    .join(', ')
}
