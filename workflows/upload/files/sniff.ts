/** What a file seems to be by its first bytes, for the refusal and for the content type. */
export interface Sniffed {
  readonly contentType: string
  /** As a person calls it, in few words. */
  readonly name: string
}

const magics: readonly (readonly [bytes: readonly number[], contentType: string, name: string])[] = [
  [[0x50, 0x4b, 0x03, 0x04], 'application/zip', 'a zip archive'],
  [[0x50, 0x4b, 0x05, 0x06], 'application/zip', 'a zip archive'],
  [[0x1f, 0x8b], 'application/gzip', 'gzip'],
  [[0x28, 0xb5, 0x2f, 0xfd], 'application/zstd', 'zstd'],
  [[0x42, 0x5a, 0x68], 'application/x-bzip2', 'bzip2'],
  [[0xfd, 0x37, 0x7a, 0x58, 0x5a], 'application/x-xz', 'xz'],
  [[0x37, 0x7a, 0xbc, 0xaf], 'application/x-7z-compressed', 'a 7z archive'],
  [[0x25, 0x50, 0x44, 0x46], 'application/pdf', 'PDF'],
  [[0x50, 0x41, 0x52, 0x31], 'application/vnd.apache.parquet', 'Parquet'],
  [[0x53, 0x51, 0x4c, 0x69, 0x74, 0x65, 0x20], 'application/vnd.sqlite3', 'an SQLite database'],
  [[0x89, 0x50, 0x4e, 0x47], 'image/png', 'a PNG image'],
  [[0xff, 0xd8, 0xff], 'image/jpeg', 'a JPEG image'],
  [[0x47, 0x49, 0x46, 0x38], 'image/gif', 'a GIF image'],
  [[0xff, 0xfe], 'text/plain; charset=utf-16le', 'text in UTF-16'],
  [[0xfe, 0xff], 'text/plain; charset=utf-16be', 'text in UTF-16'],
]

const lookBytes = 4_096

/** Judges bytes that are known not to begin like JSON. */
export function sniff(bytes: Uint8Array): Sniffed {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, lookBytes))
  for (const [magic, contentType, name] of magics) {
    if (magic.every((byte, index) => head[index] === byte)) return { contentType, name }
  }
  if (isBinary(head)) return { contentType: 'application/octet-stream', name: 'binary data' }
  const text = head
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .trimStart()
  if (/^<(!doctype html|html|head|body)\b/i.test(text)) return { contentType: 'text/html', name: 'HTML' }
  if (/^<(\?xml|!--|[a-z])/i.test(text)) return { contentType: 'application/xml', name: 'XML' }
  if (isTable(text, bytes.length > lookBytes)) return { contentType: 'text/csv', name: 'CSV' }
  return { contentType: 'text/plain', name: 'plain text' }
}

function isBinary(head: Buffer): boolean {
  let strange = 0
  for (const byte of head) {
    if (byte === 0) return true
    if (byte < 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d && byte !== 0x0c) strange += 1
  }
  const replaced = head.toString('utf8').split('\uFFFD').length - 1
  // The cut at the end of the head may break one character of a sound text.
  return strange + replaced > 1 + head.length / 20
}

/** A table has the same separator in its first lines, equally often. */
function isTable(text: string, cut: boolean): boolean {
  const lines = text.split(/\r?\n/).filter((line) => line !== '')
  const sound = (cut && lines.length > 1 ? lines.slice(0, -1) : lines).slice(0, 5)
  return [',', ';', '\t'].some((separator) => {
    const counts = sound.map((line) => line.replaceAll(/"[^"]*"/g, '""').split(separator).length)
    return counts.length > 0 && counts[0]! > 1 && counts.every((count) => count === counts[0])
  })
}
