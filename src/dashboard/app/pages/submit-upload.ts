import { Problem } from '../api.ts'
import { bytesText, percentText } from '../format.ts'
import { Card } from '../parts/card.ts'
import { ProblemNote } from '../parts/problem-note.ts'
import { navigate } from '../route.ts'
import { Services } from '../services.ts'
import { html, useContext, useRef, useState, type VNode } from '../view.ts'

/** Sends the file as it is read from the disk: however big it is, the page holds none of it. */
function send(headers: Readonly<Record<string, string>>, form: FormData, onProgress: (sent: number) => void) {
  const request = new XMLHttpRequest()
  const answer = new Promise<{ readonly id: number; readonly existing: boolean }>((resolve, reject) => {
    request.open('POST', '/api/uploads')
    request.responseType = 'text'
    for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value)
    request.upload.addEventListener('progress', (event) => onProgress(event.loaded))
    request.addEventListener('load', () => {
      const body = parsed(request.responseText)
      if (request.status >= 200 && request.status < 300) resolve(body as { id: number; existing: boolean })
      else reject(new Problem(request.status, body))
    })
    request.addEventListener('error', () =>
      reject(new Problem(0, { detail: 'The connection broke off; nothing was stored. Try again.' })),
    )
    request.addEventListener('abort', () => reject(new Problem(0, { detail: 'Stopped; nothing was stored.' })))
  })
  request.send(form)
  return { answer, abort: () => request.abort() }
}

function parsed(text: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(text) as Readonly<Record<string, unknown>>
  } catch {
    return {}
  }
}

export function SubmitUpload(): VNode {
  const { api, session, toast } = useContext(Services)
  const [file, setFile] = useState<File | null>(null)
  const [collection, setCollection] = useState(session.collections?.[0] ?? '')
  const [isForced, setForced] = useState(false)
  const [sent, setSent] = useState<number | null>(null)
  const [problem, setProblem] = useState<Problem | null>(null)
  const [isOver, setOver] = useState(false)
  const running = useRef<{ readonly abort: () => void } | null>(null)
  const choose = (files: FileList | null | undefined) => {
    setFile(files?.[0] ?? null)
    setProblem(null)
  }
  const submit = async (event: Event) => {
    event.preventDefault()
    if (!file || sent !== null) return
    const headers: Record<string, string> = { accept: 'application/json' }
    api.guard(headers)
    const form = new FormData()
    // What is said about a file comes before it: the server reads once, from front to back.
    if (collection !== '') form.append('collection', collection)
    if (isForced) form.append('force', 'true')
    form.append('file', file, file.name)
    setProblem(null)
    setSent(0)
    const request = send(headers, form, setSent)
    running.current = request
    try {
      const { id, existing } = await request.answer
      toast(existing ? 'The same file was sent before: this is its batch.' : 'Received. The batch has begun.')
      navigate(`/entities/${id}`)
    } catch (error) {
      setProblem(error as Problem)
      setSent(null)
    }
  }
  const share = file && sent !== null && file.size > 0 ? Math.min(100, (sent / file.size) * 100) : 0
  return html`<${Card}><form class="form" onSubmit=${submit}>
    <div class=${`drop${isOver ? ' over' : ''}`}
      onDragOver=${(event: DragEvent) => {
        event.preventDefault()
        setOver(true)
      }} onDragLeave=${() => setOver(false)}
      onDrop=${(event: DragEvent) => {
        event.preventDefault()
        setOver(false)
        choose(event.dataTransfer?.files)
      }}>
      <label class="field">File: a JSON array or JSON lines, also gzipped
        <input type="file" name="file" onChange=${(event: Event) => choose((event.target as HTMLInputElement).files)} /></label>
      <span class="faint">${file ? `${file.name}, ${bytesText(file.size)}` : 'Or drop it here.'}</span>
    </div>
    <label class="field">Collection <span class="hint">optional; a collection can be held and released as a whole</span>
      ${
        session.collections
          ? html`<select name="collection" onChange=${(event: Event) => setCollection((event.target as HTMLSelectElement).value)}>${session.collections.map((name) => html`<option key=${name} value=${name} selected=${name === collection}>${name}</option>`)}</select>`
          : html`<input name="collection" maxlength="200" value=${collection} autocomplete="off" onInput=${(event: Event) => setCollection((event.target as HTMLInputElement).value)} />`
      }</label>
    <label class="check"><input type="checkbox" name="force" checked=${isForced} onChange=${(event: Event) => setForced((event.target as HTMLInputElement).checked)} />A new batch, even if I have sent the same file before</label>
    ${problem ? html`<${ProblemNote} problem=${problem} />` : null}
    ${sent === null ? null : html`<div aria-live="polite"><progress max="100" value=${share} aria-label="Sent"></progress><p class="faint">${percentText(share)} of ${bytesText(file?.size ?? 0)} sent</p></div>`}
    <div class="buttons"><button type="submit" class="button main" disabled=${!file || sent !== null}>Upload</button>
      ${sent === null ? null : html`<button type="button" class="button" onClick=${() => running.current?.abort()}>Stop</button>`}</div>
  </form><//>`
}
