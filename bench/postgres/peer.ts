/** The peers are installed beside the benchmarks, not with the product: bench/peers has a package.json of its own. */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

export const installWords = 'npm install --prefix bench/peers'

/** Built, this file lies one folder deeper than its source. */
const manifest = ['../peers/package.json', '../../peers/package.json']
  .map((path) => fileURLToPath(new URL(path, import.meta.url)))
  .find((path) => existsSync(path))!
const require = createRequire(manifest)

export const peers = ['graphile-worker', 'pg-boss', 'bullmq', 'ioredis', 'pg', 'postgres'] as const
export type Peer = (typeof peers)[number]

export function missingPeers(): readonly Peer[] {
  return peers.filter((name) => !existsSync(join(dirname(manifest), 'node_modules', name)))
}

export function versionOf(name: Peer): string {
  const path = join(dirname(manifest), 'node_modules', name, 'package.json')
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version
}

/**
 * Each caller says what it uses of a peer: the checker must pass where no peer is installed, and does not look up a name
 * that is computed.
 */
export async function loadPeer<Module>(name: Peer): Promise<Module> {
  const module = (await import(pathToFileURL(require.resolve(name)).href)) as Module & { readonly default?: Module }
  return name === 'pg' || name === 'postgres' ? (module.default ?? module) : module
}
