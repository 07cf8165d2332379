import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type Clock, systemClock } from '../clock.ts'
import type { Control } from '../control.ts'
import { SluiceError } from '../errors.ts'
import type { Machine } from '../machine.ts'
import { type Assets, loadAssets } from './assets.ts'
import { type MachineMap, MapCache } from './machine-map.ts'
import { documentOf } from './page.ts'
import { Pulse } from './pulse.ts'
import { type Listening, streamPulse } from './pulse-stream.ts'

export { type MachineMap, type MapEdge, type MapNode, machineMap } from './machine-map.ts'

export interface DashboardOptions {
  readonly control: Control
  readonly clock?: Clock
  readonly onError?: (error: unknown) => void
}

/** Paths of the application; all else that the server does not know is not found. */
export const pages = [
  '/',
  '/machines',
  '/machines/:name/:version',
  '/entities',
  '/entities/:id',
  '/holds',
  '/workers',
  '/submit',
  '/submit/:kind',
  '/login',
] as const

const mapPath = '/api/machines/:name/:version/map'

/** Draws machines for the API: each once. */
export function machineMaps(): (machine: Machine) => MachineMap {
  const maps = new MapCache()
  return (machine) => maps.get(machine)
}

/**
 * The dashboard as a plugin of the API's server: its page, its modules, and one route below /api that only it needs, the
 * pulse of the feed. Pages and modules are for everybody, for they hold no data; the rest is guarded like all of /api.
 */
export function dashboard(options: DashboardOptions): (server: FastifyInstance) => Promise<void> {
  const { control, clock = systemClock(), onError } = options
  return async (server) => {
    const assets = await loadAssets()
    const page = documentOf(assets)
    const pulse = new Pulse({ control, clock, ...(onError ? { onError } : {}) })
    const streams = new Set<() => void>()
    server.addHook('preClose', async () => {
      pulse.close()
      for (const end of [...streams]) end()
    })

    for (const path of pages) {
      server.get(path, { config: { role: 'public' } }, async (_request, reply) =>
        reply.header('cache-control', 'no-cache').type('text/html; charset=utf-8').send(page),
      )
    }
    // An address that nobody knows: a person gets the page that says so, a program what the API says.
    server.get('/*', { config: { role: 'public' } }, async (request, reply) => {
      if (!isNavigation(request)) return reply.callNotFound()
      return reply.code(404).header('cache-control', 'no-cache').type('text/html; charset=utf-8').send(page)
    })
    server.get<{ Params: { '*': string } }>('/assets/*', { config: { role: 'public' } }, async (request, reply) =>
      sendAsset(assets, request, reply),
    )

    // The API draws maps too if it was handed machineMaps().
    if (!server.hasRoute({ method: 'GET', url: mapPath })) {
      const maps = machineMaps()
      server.get<{ Params: { name: string; version: string } }>(mapPath, async ({ params: { name, version } }) => {
        const machine = (await control.machines()).find((one) => one.name === name && String(one.version) === version)
        if (!machine) throw new SluiceError('not_found', `There is no machine ${name} of version ${version}.`)
        return maps(machine)
      })
    }
    server.get('/api/pulse', { config: { isStream: true } }, async (request, reply) =>
      streamPulse(pulse, clock, streams, reply, listeningOf(request)),
    )
  }
}

/** A browser that opens an address asks for HTML; below /api and /assets there are no pages. */
function isNavigation({ url, headers }: FastifyRequest): boolean {
  return /\btext\/html\b/.test(headers.accept ?? '') && !/^\/(api|assets|docs)(\/|$|\?)/.test(url)
}

async function sendAsset(
  { files, digest }: Assets,
  request: FastifyRequest<{ Params: { '*': string } }>,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const [version, ...path] = request.params['*'].split('/')
  // Known names only, from memory: no path leads to a file of the machine.
  const asset = version === digest ? files.get(path.join('/')) : undefined
  if (!asset)
    throw new SluiceError('not_found', 'There is no such file. The dashboard may be of another version: reload it.')
  const isZipped = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
  reply
    .header('cache-control', 'public, max-age=31536000, immutable')
    .header('vary', 'accept-encoding')
    .type(asset.contentType)
  if (isZipped) reply.header('content-encoding', 'gzip')
  return reply.send(isZipped ? asset.zipped : asset.body)
}

/** What the server knows of whoever asks; a server that guards nothing knows nothing. */
function listeningOf(request: FastifyRequest): Listening {
  const known = request as {
    readonly caller?: { readonly collections: readonly string[] | null } | null
    untilRevoked?(close: () => void): () => void
  }
  return {
    isLimited: (known.caller?.collections ?? null) !== null,
    untilRevoked: (close) => known.untilRevoked?.(close) ?? (() => {}),
  }
}
