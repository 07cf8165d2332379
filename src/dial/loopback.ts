import { connect } from 'node:net'
import type { Connect, Resolve } from './connection.ts'

/**
 * For tests: names that lead to servers on this machine without a hole in the guard. The resolver answers with a public
 * constant, which the guard judges like any other; only behind the guard it is dialed to the port of that name's server.
 * Anything else is not dialed at all.
 */
export function loopbackNetwork(servers: Readonly<Record<string, number>>): {
  readonly resolve: Resolve
  readonly connect: Connect
} {
  const constants = new Map(Object.keys(servers).map((host, index) => [host, `93.184.215.${14 + index}`]))
  const ports = new Map([...constants].map(([host, address]) => [address, servers[host]!]))
  return {
    resolve: async (host) => {
      const address = constants.get(host)
      if (address === undefined) throw Object.assign(new Error(`${host} is unknown.`), { code: 'ENOTFOUND' })
      return [address]
    },
    connect: ({ address }, signal) =>
      new Promise((resolve, reject) => {
        const port = ports.get(address)
        if (port === undefined) return reject(new Error(`${address} is outside the loopback network.`))
        const socket = connect({ host: '127.0.0.1', port })
        signal.addEventListener('abort', () => socket.destroy(), { once: true })
        socket.once('error', reject)
        // To the guard the server is where it was dialed, as it would be in the world.
        socket.once('connect', () => resolve({ socket, remoteAddress: address }))
      }),
  }
}
