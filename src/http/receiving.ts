import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Clock } from '../clock.ts'
import type { HttpLimits } from './http-limits.ts'
import { isMultipart } from './route.ts'

const lookMs = 1_000

/** Ends requests whose JSON body does not come. Uploads are watched over by whoever reads them: they may take long, if they get on. */
export function watchOverBodies(server: FastifyInstance, limits: HttpLimits, clock: Clock): void {
  const receiving = new Map<FastifyRequest, number>()
  let cancel: (() => void) | null = null
  const look = () => {
    cancel = null
    const late = clock.now() - limits.receiveMs
    for (const [request, since] of receiving) {
      // Nothing can be told to somebody who is still speaking: the connection ends.
      if (since < late) request.raw.destroy()
    }
    if (receiving.size > 0) cancel = clock.after(lookMs, look)
  }
  server.addHook('preParsing', async (request) => {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
    if ((length === undefined && encoding === undefined) || request.raw.complete || isMultipart(request)) return
    receiving.set(request, clock.now())
    request.raw.once('close', () => receiving.delete(request))
    cancel ??= clock.after(lookMs, look)
  })
  server.addHook('preValidation', async (request) => {
    receiving.delete(request)
  })
  server.addHook('onClose', async () => cancel?.())
}
