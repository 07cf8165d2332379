import type { Server } from 'node:http'
import type { Socket } from 'node:net'

/** Connections over which nobody has asked anything yet. Browsers open some in advance; a server that stops need not wait for them. */
export class UnusedSockets {
  readonly #sockets = new Set<Socket>()

  constructor(server: Server) {
    server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    server.on('request', ({ socket }) => this.#sockets.delete(socket))
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}
