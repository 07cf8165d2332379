import type { FastifyInstance } from 'fastify'

/** Which methods a path is known by: for requests that no route takes. */
export class KnownMethods {
  readonly #routes: { readonly pattern: RegExp; readonly method: string }[] = []

  constructor(server: FastifyInstance) {
    server.addHook('onRoute', ({ method, url }) => {
      // The page for unknown addresses is no path of its own.
      if (url === '/*') return
      for (const one of [method].flat()) this.#routes.push({ pattern: patternOf(url), method: one })
    })
  }

  of(url: string): readonly string[] {
    const [path = ''] = url.split('?', 1)
    const found = this.#routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
    return found.length === 0 ? [] : [...new Set([...found, 'OPTIONS'])].sort()
  }
}

function patternOf(url: string): RegExp {
  const parts = url.split(/(:[A-Za-z]+|\*)/).map((part) => {
    if (part === '*') return '.*'
    return part.startsWith(':') ? '[^/]+' : part.replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&')
  })
  return new RegExp(`^${parts.join('')}$`)
}
