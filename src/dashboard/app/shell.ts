import { useBeat } from './loading.ts'
import { FindBox } from './parts/find-box.ts'
import { Icon, Wave } from './parts/icon.ts'
import { SilenceNote } from './parts/silence-note.ts'
import { sections } from './sections.ts'
import { mayDo, Services } from './services.ts'
import { changeTheme, themeNow } from './theme.ts'
import { html, useContext, useState, type View, type VNode } from './view.ts'

/** The frame around every page. */
export function Shell({
  path,
  onLogOut,
  children,
}: {
  readonly path: string
  readonly onLogOut: (() => void) | null
  readonly children?: View
}): VNode {
  const { session } = useContext(Services)
  const isCurrent = (href: string) => (href === '/' ? path === '/' : path === href || path.startsWith(`${href}/`))
  return html`<div class="frame">
    <a class="skip" href="#main">Skip to the page</a>
    <header class="side">
      <a class="brand" href="/"><${Wave} />Sluice</a>
      <${FindBox} path=${path} />
      <nav aria-label="Sections"><ul>${sections.map(({ href, icon, text }) =>
        href === '/submit' && !mayDo(session, 'submitter')
          ? null
          : html`<li key=${href}><a href=${href} aria-current=${isCurrent(href) ? 'page' : undefined}><${Icon} path=${icon} />${text}</a></li>`,
      )}</ul></nav>
      <div class="foot">
        <${Controls} />
        <div class="who"><b>${session.actor}</b>, ${session.role}${session.collections ? ` of ${session.collections.join(', ')}` : ''}${
          onLogOut
            ? html` · <a href="/login" onClick=${(event: Event) => {
                event.preventDefault()
                onLogOut()
              }}>log out</a>`
            : null
        } · <a href="/docs" target="_blank" rel="noopener">API</a></div>
      </div>
    </header>
    <main id="main" tabindex="-1"><${SilenceNote} />${children}</main>
  </div>`
}

const words = {
  live: 'Live',
  connecting: 'Connecting',
  polling: 'Every 5 s',
  paused: 'Paused',
  silent: 'No answer',
} as const

function Controls(): VNode {
  const live = useBeat()
  const [theme, setTheme] = useState(themeNow)
  const { isPaused } = live
  const toggle = () => {
    changeTheme(theme === 'dark' ? 'light' : 'dark')
    setTheme(themeNow())
  }
  return html`<div class="controls">
    <button type="button" class="button small" aria-pressed=${isPaused} title=${isPaused ? 'Refresh again' : 'Pause the refresh'} onClick=${() => live.pause(!isPaused)}>
      <span class=${`pulse ${live.status}`}></span><span aria-live="polite">${words[live.status]}</span></button>
    <button type="button" class="button small" onClick=${toggle}>${theme === 'dark' ? 'Light' : 'Dark'}</button>
  </div>`
}
