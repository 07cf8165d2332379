import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Logger } from 'pino'
import type { Control } from '../control.ts'
import { messageOf, SluiceError } from '../errors.ts'
import type { RunFigures } from '../run-figures.ts'
import { ProcessFigures, runText } from './metric-text.ts'

export interface MetricsServerOptions {
  readonly control: Pick<Control, 'workers'>
  readonly figures: () => RunFigures
  readonly listen: { readonly host: string; readonly port: number }
  readonly log: Logger
}

export interface MetricsServer {
  readonly url: string
  close(): Promise<void>
}

/** `/health`, `/ready` and `/metrics` of a process that serves nothing else. They need no token: they tell figures, and nothing of any entity. */
export async function openMetricsServer({
  control,
  figures,
  listen,
  log,
}: MetricsServerOptions): Promise<MetricsServer> {
  const process = new ProcessFigures()
  const pages: Readonly<Record<string, () => Promise<Page>>> = {
    '/health': async () => json(200, { status: 'ok' }),
    '/ready': async () => {
      try {
        await control.workers()
        return json(200, { status: 'ready' })
      } catch (error) {
        log.warn({ error: messageOf(error) }, 'not ready')
        return json(503, { status: 'not ready', detail: 'The store does not answer.' })
      }
    },
    '/metrics': async () => ({
      status: 200,
      type: 'text/plain; version=0.0.4; charset=utf-8',
      body: `${runText(figures())}${process.text()}`,
    }),
  }
  const answer: RequestListener = async ({ method, url = '' }, response) => {
    const page = pages[url.split('?')[0] ?? '']
    const isRead = method === 'GET' || method === 'HEAD'
    const { status, type, body } = page ? await (isRead ? page() : refused()) : missing(Object.keys(pages))
    response.writeHead(status, { 'content-type': type, ...(isRead ? {} : { allow: 'GET, HEAD' }) })
    response.end(method === 'HEAD' ? undefined : body)
  }
  const server = createServer({ requestTimeout: 10_000 }, (request, response) => void answer(request, response))
  try {
    await listening(server, listen)
  } catch (error) {
    process.close()
    throw error
  }
  const { address, port } = server.address() as AddressInfo
  return {
    url: `http://${address.includes(':') ? `[${address}]` : address}:${port}`,
    async close() {
      process.close()
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

interface Page {
  readonly status: number
  readonly type: string
  readonly body: string
}

function json(status: number, body: object): Page {
  return { status, type: 'application/json; charset=utf-8', body: `${JSON.stringify(body)}\n` }
}

async function refused(): Promise<Page> {
  return json(405, { detail: 'This address is only read.' })
}

function missing(pages: readonly string[]): Page {
  return json(404, { detail: `There is only ${pages.join(', ')}.` })
}

async function listening(server: Server, { host, port }: MetricsServerOptions['listen']): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new SluiceError(
          'conflict',
          `No metrics on ${host}:${port}: ${messageOf(error)}. Name another address by --metrics.`,
        ),
      ),
    )
    server.listen(port, host, resolve)
  })
}
