/** Colours, type and plain elements. Both themes are the same rules over other colours. */
const light = `
  color-scheme: light;
  --ground: #f6f7f8; --surface: #ffffff; --sunken: #eff2f4; --line: #dfe5ea; --line-strong: #c4ced6; --edge: #7a8793;
  --ink: #17212b; --soft: #4d5b68; --faint: #5f6d7a;
  --accent: #0b6a86; --accent-ink: #ffffff; --accent-tint: #e2f1f5;
  --good: #17703f; --good-tint: #e1f3e8; --good-bar: #3fa56d;
  --bad: #b3261e; --bad-tint: #fcebea; --bad-bar: #d9594f;
  --warn: #875200; --warn-tint: #fdf1dc; --warn-bar: #dd9f33;
  --active: #0b6a86; --active-tint: #e2f1f5; --active-bar: #3b9dba;
  --waiting: #525f78; --waiting-tint: #ebeff6; --waiting-bar: #b9c4d6;
  --ended: #5d6670; --ended-tint: #edeff1; --ended-bar: #98a3ad;
  --shadow: 0 1px 2px rgb(23 33 43 / 5%), 0 2px 10px rgb(23 33 43 / 4%);
  --shadow-high: 0 12px 44px rgb(23 33 43 / 22%);
`
const dark = `
  color-scheme: dark;
  --ground: #0e1317; --surface: #151c22; --sunken: #1c252c; --line: #27323b; --line-strong: #3b4954; --edge: #6f7e8b;
  --ink: #e4ebf1; --soft: #b0bdc8; --faint: #96a4b0;
  --accent: #62c4e0; --accent-ink: #06222c; --accent-tint: #12323d;
  --good: #6dd49a; --good-tint: #133022; --good-bar: #3b9665;
  --bad: #ff9a91; --bad-tint: #3b1a1a; --bad-bar: #c9524a;
  --warn: #f2bd62; --warn-tint: #362811; --warn-bar: #b98430;
  --active: #62c4e0; --active-tint: #12323d; --active-bar: #2f8aa6;
  --waiting: #aebbd3; --waiting-tint: #222b3a; --waiting-bar: #55627a;
  --ended: #a5b0ba; --ended-tint: #232b32; --ended-bar: #626e78;
  --shadow: 0 1px 2px rgb(0 0 0 / 30%);
  --shadow-high: 0 12px 44px rgb(0 0 0 / 60%);
`

export const base = `
:root { ${light}
  --mono: ui-monospace, 'SF Mono', 'Cascadia Mono', 'Segoe UI Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace;
  --sans: 'Inter', ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', 'DejaVu Sans', sans-serif;
  --radius: 12px; --radius-small: 7px;
}
@media (prefers-color-scheme: dark) { :root:not([data-theme='light']) { ${dark} } }
:root[data-theme='dark'] { ${dark} }

*, *::before, *::after { box-sizing: border-box; }
html { font: 15px/1.55 var(--sans); background: var(--ground); color: var(--ink); -webkit-text-size-adjust: 100%; }
body { margin: 0; font-variant-numeric: tabular-nums; -webkit-font-smoothing: antialiased; }
h1, h2, h3, p, ul, ol, dl, dd, figure, pre { margin: 0; padding: 0; }
ul, ol { list-style: none; }
h1 { font-size: 1.62rem; line-height: 1.25; font-weight: 650; letter-spacing: -0.018em; overflow-wrap: anywhere; }
h2 { font-size: 1.02rem; line-height: 1.35; font-weight: 620; letter-spacing: -0.006em; }
h3 { font-size: 0.9rem; font-weight: 620; }
a { color: var(--accent); text-decoration: none; text-underline-offset: 3px; }
a:hover { text-decoration: underline; }
p a, dd a, .who a, .faint a, .line > span > a { text-decoration: underline; text-decoration-thickness: 1px; text-decoration-color: color-mix(in srgb, currentColor 45%, transparent); }
code, pre, .mono { font-family: var(--mono); font-size: 0.86em; }
svg { display: block; }
button, input, select, textarea { font: inherit; color: inherit; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 5px; }
::selection { background: var(--accent); color: var(--accent-ink); }
noscript p { padding: 40px; }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.soft { color: var(--soft); }
.faint { color: var(--faint); font-size: 0.87rem; }
.nowrap { white-space: nowrap; }
.break { overflow-wrap: anywhere; }
@media (prefers-reduced-motion: reduce) { *, *::before, *::after { animation: none !important; transition: none !important; } }

.button, button.plain {
  display: inline-flex; align-items: center; justify-content: center; gap: 7px; cursor: pointer; white-space: nowrap;
  min-height: 36px; padding: 0 14px; border-radius: var(--radius-small); border: 1px solid var(--edge);
  background: var(--surface); color: var(--ink); font-size: 0.9rem; font-weight: 540; text-decoration: none;
  transition: background 120ms, border-color 120ms;
}
.button:hover { background: var(--sunken); text-decoration: none; }
.button.main { background: var(--accent); border-color: var(--accent); color: var(--accent-ink); }
.button.main:hover { filter: brightness(1.07); }
.button.danger { color: var(--bad); border-color: color-mix(in srgb, var(--bad) 45%, var(--line)); }
.button.danger:hover { background: var(--bad-tint); }
.button.main.danger { background: var(--bad); color: var(--surface); border-color: var(--bad); }
.button.small { min-height: 30px; padding: 0 10px; font-size: 0.84rem; }
.button:disabled { opacity: 0.55; cursor: not-allowed; }
button.plain { border-color: transparent; background: none; padding: 0 8px; }
button.plain:hover { background: var(--sunken); }

label.field, .field { display: grid; gap: 5px; font-size: 0.86rem; font-weight: 540; color: var(--soft); align-content: start; min-width: 0; }
.field .hint { font-weight: 400; color: var(--faint); font-size: 0.83rem; }
input:not([type='checkbox'], [type='radio'], [type='file']), select, textarea {
  width: 100%; min-height: 38px; padding: 7px 11px; border-radius: var(--radius-small); border: 1px solid var(--edge);
  background: var(--surface); color: var(--ink); font-weight: 400; font-size: 0.93rem;
}
textarea { min-height: 84px; resize: vertical; line-height: 1.5; }
textarea.code { font-family: var(--mono); font-size: 0.84rem; min-height: 200px; }
input::placeholder, textarea::placeholder { color: var(--faint); opacity: 1; }
input[type='checkbox'] { width: 17px; height: 17px; accent-color: var(--accent); margin: 3px 0 0; flex: none; }
.check { display: flex; gap: 10px; align-items: flex-start; font-size: 0.9rem; color: var(--ink); }
`
