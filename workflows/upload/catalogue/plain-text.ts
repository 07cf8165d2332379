const named: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }
const entity = /&(?:#x([0-9a-f]{1,6})|#([0-9]{1,7})|([a-z]{2,4}));/gi
/** What can follow a `<` that opens a tag; after anything else it is a sign like others. */
const tagStart = /[a-z/!]/i

/** The words of an HTML text as a reader sees them: tags separate words, entities are decoded. */
export function plainText(html: string | undefined): string {
  if (html === undefined) return ''
  const text = html.includes('<') ? withoutTags(html) : html
  return text.includes('&') ? text.replace(entity, decoded) : text
}

/** By hand, as a pattern would take quadratic time over a text of many `<` that never close. */
function withoutTags(html: string): string {
  let text = ''
  let from = 0
  for (;;) {
    const open = html.indexOf('<', from)
    if (open === -1) break
    if (!tagStart.test(html[open + 1] ?? '')) {
      text += html.slice(from, open + 1)
      from = open + 1
      continue
    }
    const close = html.indexOf('>', open)
    if (close === -1) break
    text += `${html.slice(from, open)} `
    from = close + 1
  }
  return text + html.slice(from)
}

function decoded(whole: string, hex?: string, decimal?: string, name?: string): string {
  if (name !== undefined) return named[name.toLowerCase()] ?? whole
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
  const isCharacter = code > 0 && code <= 0x10_ffff && (code < 0xd800 || code > 0xdfff)
  return isCharacter ? String.fromCodePoint(code) : ' '
}
