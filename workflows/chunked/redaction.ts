/** What stands in the place of a secret, wherever people look. Only steps and handlers see the whole. */
export const hidden = '[hidden]'

/** Fields that hold a secret by their name, whatever a schema says. */
const secretName =
  /(?:^|[a-z_.-])(?:password|passwd|passphrase|secret|token|api_?key|access_?key|private_?key|authorization|credentials?)$/i
const url = /\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s"'<>`]+/gi
/** What is shorter would hide half of every message. */
const scrubbedCharsMin = 4

/** Data as people see it: without values that are known to be secret, by their place or their name, and without what keys URLs carry. */
export function redacted(value: unknown, secrets: readonly (readonly string[])[] = []): unknown {
  if (secrets.some((path) => path.length === 0)) return hidden
  if (typeof value === 'string') return redactedText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item, index) => redacted(item, below(secrets, String(index))))
  const shown = Object.entries(value).map(([key, item]) => {
    const isSecret = secretName.test(key) && (typeof item === 'string' || typeof item === 'number')
    return [key, isSecret ? hidden : redacted(item, below(secrets, key))]
  })
  return Object.fromEntries(shown)
}

/** A text with what is secret in its URLs hidden, and these values with it. */
export function redactedText(text: string, values: readonly string[] = []): string {
  let shown = text.includes('://') ? text.replace(url, redactedUrl) : text
  for (const value of values) {
    if (value.length >= scrubbedCharsMin) shown = shown.replaceAll(value, hidden)
  }
  return shown
}

/** User and password are left out; a query keeps the names of its parameters. */
function redactedUrl(text: string): string {
  const parsed = URL.parse(text)
  if (parsed === null) return text.replace(/\/\/[^/?#]*@/, `//${hidden}@`).replace(/\?.*$/, `?${hidden}`)
  if (parsed.username === '' && parsed.password === '' && parsed.search === '') return text
  const names = [...parsed.searchParams.keys()].map((name) => `${name}=…`).join('&')
  const user = parsed.username === '' && parsed.password === '' ? '' : `${hidden}@`
  return `${parsed.protocol}//${user}${parsed.host}${parsed.pathname}${names === '' ? '' : `?${names}`}`
}

function below(secrets: readonly (readonly string[])[], key: string): readonly (readonly string[])[] {
  if (secrets.length === 0) return secrets
  return secrets.filter((path) => path[0] === key).map((path) => path.slice(1))
}
