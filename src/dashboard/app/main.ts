import { systemClock } from '../../clock.ts'
import { Api } from './api.ts'
import { App } from './app.ts'
import { Live } from './live.ts'
import { interceptLinks } from './route.ts'
import { applyTheme } from './theme.ts'
import { html, render } from './view.ts'

/** What the server answers itself; all else is a page. */
const served = /^\/(api|assets|docs|openapi\.json|health|ready|metrics)(\/|$)/

const clock = systemClock()
applyTheme()
interceptLinks((path) => !served.test(path))
const root = document.getElementById('app')
if (root) render(html`<${App} api=${new Api(clock)} live=${new Live(clock)} clock=${clock} />`, root)
