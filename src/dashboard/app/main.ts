import { systemClock } from '../../clock.ts'
import { Api } from './api.ts'
import { App } from './app.ts'
import { Contact } from './contact.ts'
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
const contact = new Contact(clock)
const api = new Api(clock, contact)
const live = new Live({ clock, contact, probe: () => api.probe() })
if (root) render(html`<${App} api=${api} live=${live} contact=${contact} clock=${clock} />`, root)
