import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'

const zip = promisify(gzip)
/** Below this it costs more than it saves; answers with secrets (sessions, tokens) are below it too. */
const charactersMin = 4_096
/** Of JSON it makes a tenth, at a quarter of the time of the default level. */
const level = 1

/** Big answers are compressed for whoever takes it. Streams of events are not: each message is to be there at once. */
export function compressAnswers(server: FastifyInstance): void {
  server.addHook('onSend', async (request, reply, payload: unknown) => {
    if (typeof payload !== 'string' || payload.length < charactersMin) return payload
    reply.header('vary', 'accept-encoding')
    const isWanted = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|\s|$))/i.test(String(request.headers['accept-encoding'] ?? ''))
    if (!isWanted || request.method === 'HEAD' || reply.hasHeader('content-encoding')) return payload
    const zipped = await zip(payload, { level })
    reply.headers({ 'content-encoding': 'gzip', 'content-length': zipped.length })
    return zipped
  })
}
