import type { Assets } from './assets.ts'

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
<div id="app"></div>
<noscript><p>The dashboard needs JavaScript. The same can be done with the command line and the API: see /docs.</p></noscript>
</body>
</html>
`
}
