import { sections, wavePath } from './app/sections.ts'
import type { Assets } from './assets.ts'

/** What the reader sees until the modules are there: the same frame, without anything in it. */
const frame = `<div class="frame"><header class="side"><a class="brand" href="/"><svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="9" fill="var(--accent)"/><path d="${wavePath}" fill="none" stroke="var(--accent-ink)" stroke-width="2.6" stroke-linecap="round"/></svg>Sluice</a><div class="find"></div><nav aria-label="Sections"><ul>${sections
  .map(
    ({ href, text, icon }) =>
      `<li><a href="${href}"><svg viewBox="0 0 24 24" aria-hidden="true"><path d="${icon}"/></svg>${text}</a></li>`,
  )
  .join('')}</ul></nav></header><main id="main"><div class="skeleton"></div></main></div>`

/** The one HTML document: every page of the dashboard is drawn into it. No script and no style stands in it. */
export function documentOf({ digest, main, preloads }: Assets): string {
  const at = (path: string) => `/assets/${digest}/${path}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Sluice</title>
<link rel="icon" href="${at('icon.svg')}" type="image/svg+xml">
<link rel="stylesheet" href="${at('style.css')}">
${preloads.map((path) => `<link rel="modulepreload" href="${at(path)}">`).join('\n')}
<script type="module" src="${at(main)}"></script>
</head>
<body>
<div id="app">${frame}</div>
<noscript><p>The dashboard needs JavaScript. The same can be done with the command line and the API: see /docs.</p></noscript>
</body>
</html>
`
}
