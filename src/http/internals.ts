import { mayAct, type Role } from './access.ts'

/**
 * What only operators may see of an answer: stack traces, and where files lie on the server. This is the one place that decides: every
 * answer, problem and message of the event stream passes it as text.
 */
export function answerText(caller: { readonly role: Role } | null, answer: unknown): string {
  const text = JSON.stringify(answer)
  if ((caller && mayAct(caller.role, 'operator')) || !mayTell.test(text)) return text
  return JSON.stringify(withoutInternals(answer, 'view', false))
}

/** Cheap: most answers hold neither a frame nor a path, and need no second look. */
const mayTell = /(?:\\n|")[ \t]*at [^"]*:\d|\/[^/"]*\/|[A-Za-z]:\\\\/

/** In data, only what these names hold was written about an error. Everything else is the user's own text and stays as it is. */
const errorNames = {
  data: /error|failure|stack/i,
  view: /error|failure|stack|reason|sentence|message|warning|detail|facts|context/i,
}
const dataName = /^(?:data|parameters|input|result|report|found|item)$/

type Part = keyof typeof errorNames

function withoutInternals(value: unknown, part: Part, isError: boolean): unknown {
  if (typeof value === 'string') return isError ? withoutPaths(withoutFrames(value)) : value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((inner) => withoutInternals(inner, part, isError))
  const shown: Record<string, unknown> = {}
  for (const [name, inner] of Object.entries(value)) {
    if (/^stack_?(?:trace)?$/i.test(name) && typeof inner === 'string' && frames.test(inner)) {
      shown[name] = null
      continue
    }
    const innerPart = dataName.test(name) ? 'data' : part
    const told = withoutInternals(inner, innerPart, isError || errorNames[innerPart].test(name))
    const key = isError ? withoutPaths(withoutFrames(name)) : name
    const before = shown[key]
    // Reasons that differ by their paths alone are one reason now: their counts are added.
    shown[key] = typeof told === 'number' && typeof before === 'number' ? before + told : told
  }
  return shown
}

const frames = /(?:^|\n)[ \t]*at [^\n]*:\d+(?::\d+)?\)?(?=\n|$)/

function withoutFrames(text: string): string {
  return frames.test(text) ? text.replace(/(?:^|\n)[ \t]+at [^\n]*/g, '') : text
}

const quotedPath = /(['"`])(?:file:\/\/)?\/(?:[^'"`\n/]+\/)+([^'"`\n/]*)\1/g
const plainPath = /(?<![\w/.:…~])(?:file:\/\/)?\/(?!api\/|docs\/)(?:[^\s'"`,;:()<>|/]+\/)+([^\s'"`,;:()<>|/]*)/g
const windowsPath = /\b[A-Za-z]:\\(?:[^\s'"`:\\]+\\)+([^\s'"`:\\]*)/g

/** The file's own name stays: it often says enough. */
function withoutPaths(text: string): string {
  return text.replace(quotedPath, '$1…/$2$1').replace(plainPath, '…/$1').replace(windowsPath, '…\\$1')
}
