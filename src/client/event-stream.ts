import { SluiceError } from '../errors.ts'

/** One server-sent event. */
export interface StreamMessage {
  readonly event: string
  readonly id: string | null
  readonly data: string
}

/** Reads messages from the bytes of a stream, however they are cut; null for a comment, which says that somebody is there. */
export async function* messagesIn(
  bytes: AsyncIterable<Uint8Array>,
  charactersMax: number,
): AsyncGenerator<StreamMessage | null, void, undefined> {
  const decoder = new TextDecoder()
  let rest = ''
  let draft = emptyDraft()
  let held = 0
  for await (const block of bytes) {
    const lines = (rest + decoder.decode(block, { stream: true })).split('\n')
    rest = lines.pop() ?? ''
    for (const raw of lines) {
      const line = raw.endsWith('\r') ? raw.slice(0, -1) : raw
      if (line !== '') {
        if (line.startsWith(':')) yield null
        else held += readField(draft, line)
        if (held > charactersMax) throw tooLong(charactersMax)
        continue
      }
      if (draft.data.length > 0) yield { event: draft.event, id: draft.id, data: draft.data.join('\n') }
      draft = emptyDraft()
      held = 0
    }
    if (held + rest.length > charactersMax) throw tooLong(charactersMax)
  }
}

interface Draft {
  event: string
  id: string | null
  data: string[]
}

function emptyDraft(): Draft {
  return { event: 'message', id: null, data: [] }
}

function readField(draft: Draft, line: string): number {
  const colon = line.indexOf(':')
  const name = colon < 0 ? line : line.slice(0, colon)
  const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
  if (name === 'event') draft.event = value
  else if (name === 'id') draft.id = value
  else if (name === 'data') draft.data.push(value)
  return line.length
}

function tooLong(charactersMax: number): SluiceError {
  return new SluiceError('internal', `A message of the feed is longer than ${charactersMax} characters.`)
}
