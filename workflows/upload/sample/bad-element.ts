import type { RawItem } from './thread.ts'

/** An element that is wrong in one way, whatever the form of the file, and leaves it balanced. */
export interface BadElement {
  /** What it is to be refused for. */
  readonly reason: string
  write(item: RawItem): string | Buffer
}

const withField = (field: string, value: unknown | ((item: RawItem) => unknown)) => (item: RawItem) =>
  JSON.stringify({ ...item, [field]: typeof value === 'function' ? value(item) : value })

/** As JSON text, for what JSON.stringify would never write. */
const withText = (field: string, text: string) => (item: RawItem) =>
  `${JSON.stringify(item).slice(0, -1)},${JSON.stringify(field)}:${text}}`

export const badElements: readonly BadElement[] = [
  { reason: 'null element', write: () => 'null' },
  { reason: 'missing id', write: withField('id', undefined) },
  { reason: 'missing type', write: withField('type', undefined) },
  { reason: 'unknown type', write: withField('type', 'song') },
  { reason: 'wrong value of type', write: withField('type', 7) },
  { reason: 'wrong value of id', write: withField('id', (item: RawItem) => String(item.id)) },
  { reason: 'wrong value of id', write: withField('id', -3) },
  { reason: 'id and hnId differ', write: withField('hnId', (item: RawItem) => item.id + 1) },
  { reason: 'number beyond 2^53', write: withText('parent', '9007199254740993') },
  { reason: 'wrong value of score', write: withField('score', '12') },
  { reason: 'wrong value of by', write: withField('by', 42) },
  { reason: 'wrong value of kids', write: withField('kids', 'none') },
  { reason: 'wrong value of kids', write: withField('kids', [1, '2', 3]) },
  { reason: 'wrong value of time', write: withField('time', '2007-04-04') },
  { reason: 'wrong value of dead', write: withField('dead', 1) },
  { reason: 'broken JSON', write: (item) => `{id:${item.id},type:"story"}` },
  { reason: 'broken JSON', write: (item) => `${JSON.stringify(item).slice(0, -1)},}` },
  { reason: 'control character', write: withText('url', '"a\u0001b"') },
  { reason: 'NUL byte', write: withText('url', '"a\0b"') },
  {
    reason: 'invalid UTF-8',
    write: (item) => {
      const [before, after] = withText('url', '"!"')(item).split('"!"') as [string, string]
      return Buffer.concat([Buffer.from(`${before}"`), Buffer.from([0xc3, 0x28]), Buffer.from(`"${after}`)])
    },
  },
  { reason: 'nested too deep', write: withText('extra', '['.repeat(40) + ']'.repeat(40)) },
  { reason: 'key __proto__', write: withText('__proto__', '{"admin":true}') },
  { reason: 'not an object', write: (item) => String(item.id) },
  { reason: 'not an object', write: () => '"a story"' },
  { reason: 'not an object', write: (item) => `[${JSON.stringify(item)}]` },
]
