import { gzip } from 'node:zlib'
import type { FastifyInstance } from 'fastify'

/** Below this it costs more than it saves; answers with secrets (sessions, tokens) are below it too. */
const charactersMin = 4_096
/** Of JSON it makes a tenth, at a quarter of the time of the default level. */
const level = 1

/** Big answers are compressed for whoever takes it. Streams of events are not: each message is to be there at once. */
export function compressAnswers(server: FastifyInstance): void {
  server.addHook('onSend', (request, reply, payload, done) => {
    if (typeof payload !== 'string' || payload.length < charactersMin) return done(null, payload)
    reply.header('vary', 'accept-encoding')
    const isWanted = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?(?:,|\s|$))/i.test(String(request.headers['accept-encoding'] ?? ''))
    if (!isWanted || request.method === 'HEAD' || reply.hasHeader('content-encoding')) return done(null, payload)
    gzip(payload, { level }, (error, zipped) => {
      if (error) return done(error)
      reply.headers({ 'content-encoding': 'gzip', 'content-length': zipped.length })
      done(null, zipped)
    })
  })
}
