/** One part of a form: a field, or a file that is read while it is sent. */
export interface Part {
  readonly name: string
  readonly fileName?: string
  readonly contentType?: string
  readonly content: string | AsyncIterable<Uint8Array>
}

export interface Form {
  readonly contentType: string
  readonly body: AsyncIterable<Uint8Array>
}

/** A form that is written part by part; nothing of its files is held. The boundary is random, so that no content holds it. */
export function formOf(parts: Iterable<Part>, random: () => number): Form {
  const mark = Array.from({ length: 32 }, () => Math.floor(random() * 36).toString(36)).join('')
  const boundary = `sluice-${mark}`
  return { contentType: `multipart/form-data; boundary=${boundary}`, body: written(parts, boundary) }
}

async function* written(parts: Iterable<Part>, boundary: string): AsyncGenerator<Uint8Array, void, undefined> {
  const encoder = new TextEncoder()
  for (const { name, fileName, contentType, content } of parts) {
    const file = fileName === undefined ? '' : `; filename="${quoted(fileName)}"`
    const type = contentType ?? (fileName === undefined ? null : 'application/octet-stream')
    const lines = [
      `--${boundary}`,
      `content-disposition: form-data; name="${quoted(name)}"${file}`,
      ...(type === null ? [] : [`content-type: ${type.replaceAll(/[^ -~]/g, '')}`]),
    ]
    yield encoder.encode(`${lines.join('\r\n')}\r\n\r\n`)
    if (typeof content === 'string') yield encoder.encode(content)
    else yield* content
    yield encoder.encode('\r\n')
  }
  yield encoder.encode(`--${boundary}--\r\n`)
}

/** As forms of browsers write it: a name cannot end its own header. */
function quoted(text: string): string {
  return text.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22')
}
