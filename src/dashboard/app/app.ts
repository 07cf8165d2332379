import type { Clock } from '../../clock.ts'
import { type Api, Problem, type Session } from './api.ts'
import type { Contact } from './contact.ts'
import type { Live } from './live.ts'
import { Entities } from './pages/entities.ts'
import { EntityPage } from './pages/entity.ts'
import { Holds } from './pages/holds.ts'
import { LogIn } from './pages/login.ts'
import { MachinePage } from './pages/machine.ts'
import { Machines } from './pages/machines.ts'
import { Overview } from './pages/overview.ts'
import { Submit } from './pages/submit.ts'
import { Workers } from './pages/workers.ts'
import { Icon, Wave } from './parts/icon.ts'
import { ProblemNote } from './parts/problem-note.ts'
import { matches, navigate, useRoute } from './route.ts'
import { sections } from './sections.ts'
import { Services } from './services.ts'
import { Shell } from './shell.ts'
import { Toasts, useToasts } from './toasts.ts'
import type { MachineShape } from './tone.ts'
import { html, useCallback, useEffect, useRef, useState, type VNode } from './view.ts'

type Phase =
  | { readonly kind: 'starting' }
  | { readonly kind: 'stranger' }
  | { readonly kind: 'broken'; readonly problem: Problem }
  | { readonly kind: 'ready'; readonly session: Session; readonly machines: readonly MachineShape[] }

const startAgainMs = 3_000

interface AppProps {
  readonly api: Api
  readonly live: Live
  readonly contact: Contact
  readonly clock: Clock
}

export function App({ api, live, contact, clock }: AppProps): VNode {
  const route = useRoute()
  const { toasts, toast, dismiss } = useToasts(clock)
  const [phase, setPhase] = useState<Phase>({ kind: 'starting' })
  const start = useCallback(async () => {
    try {
      const [session, machines] = await Promise.all([api.session(), api.machines()])
      live.connect()
      setPhase({ kind: 'ready', session, machines })
    } catch (error) {
      const problem = error instanceof Problem ? error : new Problem(0, { detail: String(error) })
      setPhase(problem.status === 401 ? { kind: 'stranger' } : { kind: 'broken', problem })
    }
  }, [api, live])
  useEffect(() => {
    api.onUnauthorised = () => {
      live.close()
      setPhase({ kind: 'stranger' })
    }
    void start()
  }, [])
  useEffect(() => {
    // A server that was down when the page was opened is found again without a click.
    if (phase.kind !== 'broken') return
    return clock.after(startAgainMs, () => void start())
  }, [phase])
  usePageFocus(route.path, phase.kind)
  const loggedIn = () => {
    if (route.path === '/login') navigate('/', { replace: true })
    void start()
  }
  const logOut = async () => {
    await api.logOut().catch(() => {})
    live.close()
    setPhase({ kind: 'stranger' })
  }
  switch (phase.kind) {
    case 'starting':
      return html`<${Waiting} />`
    case 'stranger':
      return html`<${LogIn} api=${api} onDone=${loggedIn} />`
    case 'broken':
      return html`<main class="centre"><div class="card"><h1>Sluice</h1><${ProblemNote} problem=${phase.problem} /><button type="button" class="button main" onClick=${() => start()}>Try again</button></div></main>`
    case 'ready': {
      const { session, machines } = phase
      return html`<${Services.Provider} value=${{ api, live, contact, clock, session, machines, toast }}>
        <${Shell} path=${route.path} onLogOut=${session.csrf === null ? null : logOut}>${pageOf(route.path)}<//>
        <${Toasts} toasts=${toasts} dismiss=${dismiss} />
      <//>`
    }
    default:
      return phase satisfies never
  }
}

/** As the document itself shows it, so that nothing jumps. */
function Waiting(): VNode {
  return html`<div class="frame"><header class="side"><a class="brand" href="/"><${Wave} />Sluice</a><div class="find"></div>
    <nav aria-label="Sections"><ul>${sections.map(({ href, text, icon }) => html`<li key=${href}><a href=${href}><${Icon} path=${icon} />${text}</a></li>`)}</ul></nav></header>
    <main id="main"><div class="skeleton"></div></main></div>`
}

function pageOf(path: string): VNode {
  const entity = matches('/entities/:id', path)
  if (entity) return html`<${EntityPage} key=${entity.id} id=${entity.id} />`
  const machine = matches('/machines/:name/:version', path)
  if (machine) return html`<${MachinePage} key=${path} name=${machine.name} version=${machine.version} />`
  if (matches('/submit/:kind', path)) return html`<${Submit} />`
  switch (path) {
    case '/':
    case '/login':
      return html`<${Overview} />`
    case '/machines':
      return html`<${Machines} />`
    case '/entities':
      return html`<${Entities} />`
    case '/holds':
      return html`<${Holds} />`
    case '/workers':
      return html`<${Workers} />`
    case '/submit':
      return html`<${Submit} />`
    default:
      return html`<div class="stack"><h1>There is no such page</h1><p class="soft break">Nothing is at <b>${decoded(path)}</b>. The address may be mistyped, or come from another version.</p>
        <p class="buttons"><a class="button main" href="/">Overview</a><a class="button" href="/entities">Entities</a></p></div>`
  }
}

/** A new page has its own title, and begins at its beginning for whoever reads with the keyboard or by ear. */
function usePageFocus(path: string, phase: Phase['kind']): void {
  const last = useRef(path)
  useEffect(() => {
    const words = path.split('/').filter(Boolean).map(decoded)
    document.title =
      phase === 'stranger' ? 'Log in · Sluice' : `${words.length > 0 ? words.join(' ') : 'Overview'} · Sluice`
    if (last.current === path) return
    last.current = path
    document.getElementById('main')?.focus({ preventScroll: true })
  }, [path, phase])
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
