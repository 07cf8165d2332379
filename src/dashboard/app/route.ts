import { useEffect, useState } from './view.ts'

/** Where the reader is. All that a page shows follows from this, so that an address can be shared. */
export interface Route {
  readonly path: string
  readonly query: URLSearchParams
}

const listeners = new Set<() => void>()

function current(): Route {
  return { path: location.pathname, query: new URLSearchParams(location.search) }
}

export function navigate(href: string, { replace = false }: { readonly replace?: boolean } = {}): void {
  const before = current()
  if (replace) history.replaceState(null, '', href)
  else history.pushState(null, '', href)
  // A changed filter of the same page leaves the reader where he clicked; another page begins at its top.
  const isSamePage = current().path === before.path && current().query.get('after') === before.query.get('after')
  if (!replace && !isSamePage) scrollTo(0, 0)
  for (const listener of listeners) listener()
}

/** The same page with other query values; null takes one away. A changed filter begins at the first page again. */
export function withQuery(route: Route, changes: Readonly<Record<string, string | null>>): string {
  const query = new URLSearchParams(route.query)
  if (!('after' in changes)) query.delete('after')
  for (const [name, value] of Object.entries(changes)) {
    if (value === null || value === '') query.delete(name)
    else query.set(name, value)
  }
  const text = query.toString()
  return text === '' ? route.path : `${route.path}?${text}`
}

export function queryText(values: Readonly<Record<string, string | number | boolean | null | undefined>>): string {
  const query = new URLSearchParams()
  for (const [name, value] of Object.entries(values)) {
    if (value !== null && value !== undefined && value !== '') query.set(name, String(value))
  }
  const text = query.toString()
  return text === '' ? '' : `?${text}`
}

export function useRoute(): Route {
  const [route, setRoute] = useState(current)
  useEffect(() => {
    const update = () => setRoute(current())
    listeners.add(update)
    addEventListener('popstate', update)
    return () => {
      listeners.delete(update)
      removeEventListener('popstate', update)
    }
  }, [])
  return route
}

/** Links within the dashboard change the page without loading it again; all others are the browser's. */
export function interceptLinks(isOurs: (path: string) => boolean): void {
  addEventListener('click', (event) => {
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return
    const anchor = (event.target as Element | null)?.closest?.('a[href]')
    if (!anchor || anchor.getAttribute('target') || anchor.hasAttribute('download')) return
    const url = new URL((anchor as HTMLAnchorElement).href ?? anchor.getAttribute('href'), location.href)
    if (url.origin !== location.origin || !isOurs(url.pathname)) return
    // The link past the navigation stays within the page.
    if (url.hash !== '' && url.pathname === location.pathname) return
    event.preventDefault()
    navigate(url.pathname + url.search)
  })
}

/** Parameters of a path that fits the pattern; null: it does not. */
export function matches(pattern: string, path: string): Readonly<Record<string, string>> | null {
  const names = pattern.split('/')
  const parts = path.replace(/(.)\/$/, '$1').split('/')
  if (names.length !== parts.length) return null
  const found: Record<string, string> = {}
  for (const [index, name] of names.entries()) {
    const part = parts[index]!
    if (name.startsWith(':')) {
      try {
        found[name.slice(1)] = decodeURIComponent(part)
      } catch {
        return null
      }
    } else if (name !== part) return null
  }
  return found
}
