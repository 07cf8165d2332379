import { detectForm, type Head } from './form.ts'
import { sniff } from './sniff.ts'

export interface ContentTypeHints {
  /** What the sender said, e.g. the header of a multipart part. */
  readonly header?: string | undefined
  readonly fileName: string
}

/** Says nothing about the content: senders use it when they do not know. */
const vague = new Set(['', 'application/octet-stream', 'binary/octet-stream', 'application/x-www-form-urlencoded'])

/** Names the wrapping, not what is inside. */
const wrapping = new Set([
  'application/gzip',
  'application/x-gzip',
  'application/x-gunzip',
  'application/gzip-compressed',
])

/**
 * The content type of a file, by what its sender said; where that says nothing about the inside, by the first bytes,
 * and where these can be read either way, by the name. The head is of the inflated content.
 */
export function sniffContentType(head: Head, hints: ContentTypeHints): string {
  const said = essenceOf(hints.header)
  if (!vague.has(said) && !wrapping.has(said)) return said
  const named = typeByName(hints.fileName)
  if (head.bytes.length === 0) return named ?? 'application/octet-stream'
  const begun = detectForm(head)
  if ('form' in begun) return begun.form === 'lines' ? 'application/x-ndjson' : 'application/json'
  // A lone string or nothing but space is JSON, or could become it: the check of the content says what is wrong.
  if (begun.reason === 'wrong type at the top') return 'application/json'
  if (begun.reason === 'only whitespace') return named ?? 'text/plain'
  return sniff(head.bytes).contentType
}

/** The type without its parameters, in lower case: 'Application/JSON; charset=utf-8' is 'application/json'. */
function essenceOf(header: string | undefined): string {
  const essence = (header ?? '').split(';', 1)[0]!.trim().toLowerCase()
  // Anything else is not a media type, and would be carried along into logs and reports.
  return /^[a-z0-9!#$&^_.+-]{1,127}\/[a-z0-9!#$&^_.+-]{1,127}$/.test(essence) ? essence : ''
}

function typeByName(fileName: string): string | null {
  const name = fileName.toLowerCase().replace(/\.(gz|gzip)$/, '')
  if (/\.json$/.test(name)) return 'application/json'
  if (/\.(ndjson|jsonl)$/.test(name)) return 'application/x-ndjson'
  return null
}
