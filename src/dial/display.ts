const shownMax = 300

/** A URL for logs, histories and pages. Query strings and userinfo carry keys, so they are never shown. */
export function display(url: URL | string): string {
  const parsed = typeof url === 'string' ? URL.parse(url) : url
  if (parsed === null) return 'an unreadable URL'
  // Other schemes keep their content, or a password, in what is called the path.
  if (!/^https?:$/.test(parsed.protocol)) return `${parsed.protocol.slice(0, 40)}…`
  const text = `${parsed.protocol}//${parsed.host}${parsed.pathname}`
  const shown = text.length <= shownMax ? text : `${text.slice(0, shownMax)}…`
  return parsed.search === '' ? shown : `${shown}?…`
}
