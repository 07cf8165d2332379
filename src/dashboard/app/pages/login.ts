import { type Api, Problem, type Session } from '../api.ts'
import { Wave } from '../parts/icon.ts'
import { ProblemNote } from '../parts/problem-note.ts'
import { html, useState, type VNode } from '../view.ts'

const refused = new Problem(401, {
  detail:
    'This token is not valid here. It may be mistyped, revoked or expired; `sluice token list` shows those there are.',
})

/** Shown where it is needed, at whatever address: after it, the reader is where he wanted to go. */
export function LogIn({ api, onDone }: { readonly api: Api; readonly onDone: (session: Session) => void }): VNode {
  const [token, setToken] = useState('')
  const [problem, setProblem] = useState<Problem | null>(null)
  const submit = async (event: Event) => {
    event.preventDefault()
    setProblem(null)
    try {
      onDone(await api.logIn(token.trim()))
    } catch (error) {
      setProblem(
        error instanceof Problem ? (error.status === 401 ? refused : error) : new Problem(0, { detail: String(error) }),
      )
    }
  }
  return html`<main class="centre" tabindex="-1"><form class="card" onSubmit=${submit}>
    <div class="brand"><${Wave} />Sluice</div>
    <div class="title"><h1>Log in</h1><p class="soft">With a token: <code>sluice token create</code> makes one.</p></div>
    <label class="field">Token<input type="password" name="token" required autocomplete="current-password" autofocus value=${token} placeholder="slc_…" onInput=${(event: Event) => setToken((event.target as HTMLInputElement).value)} /></label>
    ${problem ? html`<${ProblemNote} problem=${problem} />` : null}
    <button type="submit" class="button main">Log in</button>
  </form></main>`
}
