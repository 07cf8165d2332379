/** What stands in the place of a secret, wherever people look. Only steps and handlers see the whole. */
export const hidden = '[hidden]'

/** Fields that hold a secret by their name, whatever a schema says. */
const secretName =
  /(?:^|[a-z_.-])(?:password|passwd|passphrase|secret|token|(?:api|access|private)[_-]?key|authorization|cookie|credentials?)$/i
const url = /\b[a-z][a-z0-9+.-]{1,30}:\/\/[^\s"'<>`]+/gi
const lonelyUrl = /^[a-z][a-z0-9+.-]*:\/\/\S+$/i
/** What is shorter would hide half of every message. */
export const scrubbedCharsMin = 4

/** Data as people see it: without values that are known to be secret, by their place or their name, and without what keys URLs carry. */
export function redacted(value: unknown, secrets: readonly (readonly string[])[] = []): unknown {
  if (secrets.some((path) => path.length === 0)) return hidden
  // Some characters end a URL within a sentence, but not one that stands alone.
  if (typeof value === 'string') return lonelyUrl.test(value) ? redactedUrl(value) : redactedText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((item, index) => redacted(item, below(secrets, String(index))))
  const shown = Object.entries(value).map(([key, item]) => [
    key,
    secretName.test(key) ? withoutLeaves(item) : redacted(item, below(secrets, key)),
  ])
  return Object.fromEntries(shown)
}

function withoutLeaves(value: unknown): unknown {
  if (typeof value === 'string' || typeof value === 'number') return hidden
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(withoutLeaves)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withoutLeaves(item)]))
}

/** Texts and numbers, with where they stand. */
export function leavesOf(
  value: unknown,
  path: readonly string[] = [],
): readonly { readonly path: readonly string[]; readonly text: string }[] {
  if (typeof value === 'string' || typeof value === 'number') return [{ path, text: String(value) }]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, item]) => leavesOf(item, [...path, key]))
}

/** Texts and numbers that are secret by a name above them. */
export function namedSecrets(value: unknown): readonly string[] {
  return leavesOf(value)
    .filter(({ path }) => path.some((key) => secretName.test(key)))
    .map(({ text }) => text)
}

/** A text with what is secret in its URLs hidden, and these values with it. */
export function redactedText(text: string, values: readonly string[] = []): string {
  let shown = text.includes('://') ? text.replace(url, redactedUrl) : text
  for (const value of values) {
    if (value.length >= scrubbedCharsMin) shown = shown.replaceAll(value, hidden)
  }
  return shown
}

/** User and password are left out; a query, and a fragment that is written like one, keep the names of their parameters. */
function redactedUrl(text: string): string {
  const parsed = URL.parse(text)
  if (parsed === null) return text.replace(/\/\/[^/?#]*@/, `//${hidden}@`).replace(/[?#].*$/, `?${hidden}`)
  const { username, password, search, hash } = parsed
  const hasUser = username !== '' || password !== ''
  if (!hasUser && search === '' && !hash.includes('=')) return text
  const fragment = hash.includes('=') ? withoutValues('#', hash) : hash
  const user = hasUser ? `${hidden}@` : ''
  return `${parsed.protocol}//${user}${parsed.host}${parsed.pathname}${withoutValues('?', search)}${fragment}`
}

function withoutValues(sign: '?' | '#', text: string): string {
  const names = [...new URLSearchParams(text.slice(1)).keys()].map((name) => `${name}=…`).join('&')
  return names === '' ? '' : `${sign}${names}`
}

function below(secrets: readonly (readonly string[])[], key: string): readonly (readonly string[])[] {
  if (secrets.length === 0) return secrets
  return secrets.filter((path) => path[0] === key).map((path) => path.slice(1))
}
