import type { FastifyReply } from 'fastify'
import type { Clock } from '../clock.ts'
import { SluiceError } from '../errors.ts'
import type { Beat, Pulse } from './pulse.ts'

/** The page takes the connection for dead when two of these are missing. */
const heartbeatMs = 5_000
/** A reader that has so much unread is not looking: its connection is closed, and the browser comes again by itself. */
const unreadBytesMax = 256 * 1_024

export interface Listening {
  /** Whose token is limited to some collections is told that something happened, not how much of it. */
  readonly isLimited: boolean
  /** Calls back when the listener's right is taken back; returns what ends the watch. */
  untilRevoked(close: () => void): () => void
}

/**
 * The pulse as server-sent events: `history` once, then `beat` whenever something has happened. `streams` holds what ends
 * each open one: a server that stops does not wait for those who only listen.
 */
export function streamPulse(
  pulse: Pulse,
  clock: Clock,
  streams: Set<() => void>,
  reply: FastifyReply,
  { isLimited, untilRevoked }: Listening,
): FastifyReply {
  const { raw } = reply
  let cancelHeartbeat = () => {}
  let endWatch = () => {}
  const end = () => {
    cancelHeartbeat()
    endWatch()
    streams.delete(end)
    stop?.()
    raw.destroy()
  }
  const send = (text: string) => {
    if (raw.destroyed) return
    if (raw.writableLength > unreadBytesMax) return end()
    raw.write(text)
  }
  // JSON has no line breaks of its own: one data line holds it all.
  const stop = pulse.listen((beat: Beat) => {
    const told = isLimited ? { ...beat, moves: 0, births: 0, edges: {} } : beat
    send(`event: beat\nid: ${beat.position}\ndata: ${JSON.stringify(told)}\n\n`)
  })
  if (!stop) throw new SluiceError('conflict', 'Too many pages are listening already. Close some of them.')
  streams.add(end)
  endWatch = untilRevoked(end)
  reply.hijack()
  raw.writeHead(200, {
    ...Object.fromEntries(Object.entries(reply.getHeaders()).filter(([, value]) => value !== undefined)),
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    // Otherwise a browser that leaves the page keeps the connection for seconds, to use it again, and has only six.
    connection: 'close',
  })
  send(
    `retry: 2000\nevent: history\ndata: ${JSON.stringify(isLimited ? { ...pulse.history(), seconds: [], beats: [] } : pulse.history())}\n\n`,
  )
  const heartbeat = () => {
    send('event: alive\ndata: 1\n\n')
    cancelHeartbeat = clock.after(heartbeatMs, heartbeat)
  }
  cancelHeartbeat = clock.after(heartbeatMs, heartbeat)
  raw.once('close', end)
  return reply
}
