import { Services } from '../services.ts'
import { html, useContext, type View, type VNode } from '../view.ts'

const charactersMax = 200_000

/** Data as text, in colours, with a button that copies it. */
export function JsonView({ value, label }: { readonly value: unknown; readonly label: string }): VNode {
  const { toast } = useContext(Services)
  const text = JSON.stringify(value ?? null, null, 2)
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text)
      toast('Copied.')
    } catch {
      toast('The browser does not allow copying here.', 'bad')
    }
  }
  return html`<div class="json">
    <pre tabindex="0" role="region" aria-label=${label}>${coloured(text.slice(0, charactersMax))}${text.length > charactersMax ? '\n… copy for the rest' : null}</pre>
    <button type="button" class="button small copy" onClick=${copy}>Copy</button>
  </div>`
}

const tokens = /("(?:\\.|[^"\\])*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g

function coloured(text: string): readonly View[] {
  const views: View[] = []
  let end = 0
  for (const match of text.matchAll(tokens)) {
    views.push(text.slice(end, match.index))
    const [whole, string, colon, number] = match
    const kind =
      string === undefined ? (number === undefined ? 'word' : 'number') : colon === undefined ? 'string' : 'key'
    views.push(html`<span class=${kind}>${string ?? whole}</span>`, colon ?? '')
    end = match.index + whole.length
    // A page of a million coloured words helps nobody.
    if (views.length > 12_000) break
  }
  return [...views, text.slice(end)]
}
