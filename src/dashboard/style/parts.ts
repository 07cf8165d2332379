/** What pages are made of: badges, bars, tables, dialogs, toasts. */
const tones = ['good', 'bad', 'warn', 'active', 'waiting', 'ended']
  .map(
    (tone) => `
.badge.${tone} { color: var(--${tone}); background: var(--${tone}-tint); }
.dot.${tone} { background-color: var(--${tone}-bar); }
.bar .${tone} { background-color: var(--${tone}-bar); }
.node.${tone} rect { fill: var(--${tone}-tint); stroke: var(--${tone}-bar); }
.node.${tone} .count { fill: var(--${tone}); }`,
  )
  .join('')

export const parts = `
${tones}
.badge { display: inline-flex; align-items: center; gap: 6px; padding: 2px 9px; border-radius: 999px; font-size: 0.81rem; font-weight: 560; white-space: nowrap; line-height: 1.55; }
.badge::before { content: ''; width: 6px; height: 6px; border-radius: 50%; background: currentColor; }
.badge.bare::before { display: none; }
.badge.note { background: var(--sunken); color: var(--soft); }
.head .line .badge.note { white-space: normal; overflow-wrap: anywhere; border-radius: 10px; }
.badge.note::before { display: none; }
.dot { display: inline-block; width: 9px; height: 9px; border-radius: 3px; flex: none; }

.bar { display: flex; height: 10px; border-radius: 999px; overflow: hidden; background: var(--sunken); gap: 2px; }
.pattern1 { background-image: repeating-linear-gradient(45deg, rgb(255 255 255 / 55%) 0 2px, transparent 2px 5px); }
.pattern2 { background-image: repeating-linear-gradient(-45deg, rgb(0 0 0 / 32%) 0 2px, transparent 2px 5px); }
.pattern3 { background-image: repeating-linear-gradient(90deg, rgb(255 255 255 / 55%) 0 2px, transparent 2px 4px); }
.bar.large { height: 16px; }
.bar > span { min-width: 3px; height: 100%; transition: width 300ms ease; }
.legend { display: flex; flex-wrap: wrap; gap: 7px 20px; font-size: 0.88rem; }
.legend a { display: inline-flex; align-items: center; gap: 8px; color: var(--soft); }
.legend b { color: var(--ink); font-weight: 600; }

.scroll { overflow-x: auto; border-radius: inherit; }
table { width: 100%; border-collapse: collapse; font-size: 0.91rem; }
th { text-align: left; font-weight: 540; font-size: 0.81rem; color: var(--faint); padding: 7px 12px; white-space: nowrap; border-bottom: 1px solid var(--line); }
td { padding: 9px 12px; border-bottom: 1px solid var(--line); vertical-align: middle; }
th:first-child, td:first-child { padding-left: 20px; }
th:last-child, td:last-child { padding-right: 20px; }
tbody tr:last-child td { border-bottom: 0; }
tbody tr:hover td { background: color-mix(in srgb, var(--sunken) 55%, transparent); }
td.number, th.number { text-align: right; white-space: nowrap; }
td .clip { display: block; max-width: 44ch; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
td.name { font-weight: 540; min-width: 150px; }
a.entity { display: inline-flex; max-width: 100%; gap: 6px; vertical-align: bottom; }
a.entity > span:first-child:not(.id) { max-width: 34ch; min-width: 0; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
a.entity .id { flex: none; }
td.meter { min-width: 110px; }
table.tight th, table.tight td { padding-left: 9px; padding-right: 9px; }
table.tight th:first-child, table.tight td:first-child { padding-left: 20px; }
table.tight th:last-child, table.tight td:last-child { padding-right: 20px; }
table.tight a.entity > span:first-child:not(.id) { max-width: 18ch; }
@media (max-width: 600px) { a.entity > span:first-child:not(.id) { max-width: 15ch; } td .badge { white-space: normal; border-radius: 10px; } }
table.tight td.meter { min-width: 72px; }
.empty { padding: 26px 20px 30px; text-align: center; color: var(--faint); display: grid; gap: 12px; justify-items: center; }
.pager { display: flex; justify-content: space-between; gap: 12px; align-items: center; padding: 10px 20px 12px; border-top: 1px solid var(--line); font-size: 0.87rem; color: var(--faint); }

.rows { display: grid; }
.rows > li { display: flex; gap: 14px; align-items: center; justify-content: space-between; padding: 11px 20px; border-bottom: 1px solid var(--line); }
.rows > li:last-child { border-bottom: 0; }
.rows .text { display: grid; gap: 2px; min-width: 0; flex: 1; }
.rows .text .what { font-weight: 540; overflow-wrap: anywhere; }
.rows .text .why { color: var(--soft); font-size: 0.87rem; overflow-wrap: anywhere; }
.card > .body.flush > .body { padding: 4px 20px 8px; }
.rows.compact > li { padding: 7px 20px; }
.rows.compact .figure { font-size: 0.98rem; }
.rows.compact .what { font-weight: 460; }
.rows .figure { font-size: 1.15rem; font-weight: 620; }

.callout { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 12px; align-items: start; padding: 14px 18px; border-radius: var(--radius); background: var(--surface); border: 1px solid var(--line); border-left: 3px solid var(--accent); }
@media (max-width: 600px) { .callout { grid-template-columns: minmax(0, 1fr); justify-items: start; } }
.callout.bad { border-left-color: var(--bad-bar); }
.callout.warn { border-left-color: var(--warn-bar); }
.callout.good { border-left-color: var(--good-bar); }
.callout.waiting, .callout.ended { border-left-color: var(--waiting-bar); }
.callout.hold { grid-template-columns: auto minmax(0, 1fr) auto; align-items: center; }
@media (max-width: 600px) { .callout.hold { grid-template-columns: minmax(0, 1fr); } }
.stack.tight { gap: 10px; }
.rows > li > .dot { align-self: start; margin-top: 7px; }
.callout p { overflow-wrap: anywhere; }

dl.facts { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 8px 20px; font-size: 0.91rem; }
dl.facts dt { color: var(--faint); }
dl.facts dd { overflow-wrap: anywhere; }
.numbers { display: flex; flex-wrap: wrap; gap: 8px 34px; }
.numbers > div { display: grid; }
.numbers .label { font-size: 0.82rem; color: var(--faint); }
.numbers .figure { font-size: 1.3rem; font-weight: 620; letter-spacing: -0.015em; }

.timeline { display: grid; }
.timeline > li { display: grid; grid-template-columns: 18px minmax(0, 1fr); gap: 12px; padding-bottom: 16px; position: relative; }
.timeline > li::before { content: ''; position: absolute; left: 8px; top: 17px; bottom: -5px; width: 2px; background: var(--line); }
.timeline > li:last-child::before { display: none; }
.timeline .knot { width: 12px; height: 12px; border-radius: 50%; margin: 6px 3px 0; border: 3px solid var(--surface); outline: 2px solid currentColor; background: currentColor; }
.timeline .knot.good { color: var(--good-bar); } .timeline .knot.bad { color: var(--bad-bar); } .timeline .knot.warn { color: var(--warn-bar); }
.timeline .knot.active { color: var(--active-bar); } .timeline .knot.waiting { color: var(--waiting-bar); } .timeline .knot.ended { color: var(--ended-bar); }
.timeline .what { display: flex; flex-wrap: wrap; gap: 4px 10px; align-items: baseline; }
.timeline .what b { font-weight: 580; }
.timeline .more { color: var(--soft); font-size: 0.87rem; overflow-wrap: anywhere; }
.timeline .error { color: var(--bad); font-size: 0.87rem; font-family: var(--mono); overflow-wrap: anywhere; white-space: pre-wrap; }
.limited { max-height: 560px; overflow-y: auto; }
.rows.limited { max-height: 340px; }

.failure { display: grid; gap: 10px; padding: 16px 20px; border-radius: var(--radius); background: var(--surface); border: 1px solid var(--bad-bar); border-left: 4px solid var(--bad-bar); }
.failure h2 { color: var(--bad); overflow-wrap: anywhere; }
.failure pre { white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.55; }
.failure .message { font-family: inherit; font-size: 0.95rem; }
.failure figure { display: grid; gap: 6px; }
.failure figcaption { font-size: 0.87rem; color: var(--soft); }
.failure .input { max-height: 260px; overflow: auto; padding: 11px 14px; border-radius: 9px; background: var(--sunken); font-size: 0.84rem; }
.report section { display: grid; gap: 8px; }
.report .words { overflow-wrap: anywhere; font-size: 0.95rem; padding-top: 3px; }
.report table.narrow { width: auto; min-width: min(360px, 100%); }
.report tbody th { color: var(--ink); font-weight: 460; font-size: 0.91rem; white-space: normal; overflow-wrap: anywhere; padding: 7px 12px 7px 0; }
.report td:first-child, .report th:first-child { padding-left: 0; }
.report td.break { min-width: 140px; }
.report details > summary { cursor: pointer; color: var(--accent); font-size: 0.9rem; padding: 2px 0; }
.report details[open] > summary { margin-bottom: 8px; }
ul.plain { list-style: disc; padding-left: 20px; }
.card .more { padding: 8px 20px 12px; }
.json { position: relative; }
.json pre { max-height: 460px; overflow: auto; padding: 14px 16px; border-radius: 9px; background: var(--sunken); white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.6; font-size: 0.82rem; tab-size: 2; }
.json .key { color: var(--accent); } .json .string { color: var(--good); } .json .number { color: var(--warn); } .json .word { color: var(--waiting); }
.json .copy { position: absolute; right: 10px; top: 9px; }
details > summary { cursor: pointer; color: var(--soft); font-size: 0.9rem; }
details[open] > summary { margin-bottom: 8px; }
.json details > summary { cursor: pointer; color: var(--soft); font-size: 0.9rem; }

dialog { border: 0; padding: 0; color: var(--ink); background: none; max-width: 100%; margin: auto; }
dialog::backdrop { background: rgb(8 14 19 / 48%); }
dialog .card { width: min(520px, calc(100vw - 28px)); box-shadow: var(--shadow-high); padding: 24px 26px; display: grid; gap: 18px; }
dialog .count { font-size: 2rem; font-weight: 640; letter-spacing: -0.03em; line-height: 1.1; }
.warning { padding: 11px 14px; border-radius: 9px; background: var(--warn-tint); color: var(--warn); font-size: 0.92rem; }
.problem { padding: 11px 14px; border-radius: 9px; background: var(--bad-tint); color: var(--bad); font-size: 0.92rem; overflow-wrap: anywhere; }
.problem ul { list-style: disc; padding-left: 20px; }
.toasts { position: fixed; right: 20px; bottom: 20px; z-index: 40; display: grid; gap: 10px; width: min(400px, calc(100vw - 40px)); }
.toast { display: flex; gap: 12px; justify-content: space-between; align-items: start; padding: 12px 14px 12px 16px; border-radius: 10px; background: var(--surface); border: 1px solid var(--line-strong); border-left: 4px solid var(--good-bar); box-shadow: var(--shadow-high); overflow-wrap: anywhere; font-size: 0.92rem; }
.toast.bad { border-left-color: var(--bad-bar); }
.toast button { border: 0; background: none; cursor: pointer; color: var(--faint); font-size: 1.1rem; line-height: 1; padding: 3px 5px; }
.chips { display: flex; flex-wrap: wrap; gap: 6px; }
.chip { display: inline-flex; gap: 7px; align-items: center; padding: 4px 11px; border-radius: 999px; border: 1px solid var(--line); color: var(--soft); font-size: 0.86rem; background: var(--surface); }
.chip:hover { border-color: var(--line-strong); text-decoration: none; }
.chip[aria-current='true'] { border-color: var(--accent); color: var(--accent); background: var(--accent-tint); }
.form textarea.code { min-height: 110px; }
.form textarea.code[name='data'], .form textarea.code[name='parameters'] { min-height: 220px; }
.check .hint { display: block; color: var(--faint); font-size: 0.83rem; }
.form { display: grid; gap: 16px; max-width: 680px; }
.drop { border: 1.5px dashed var(--line-strong); border-radius: var(--radius); padding: 32px 20px; text-align: center; display: grid; gap: 10px; justify-items: center; color: var(--soft); }
.drop.over { border-color: var(--accent); background: var(--accent-tint); }
progress { width: 100%; height: 10px; accent-color: var(--accent); }
.skeleton { min-height: 160px; border-radius: var(--radius); background: linear-gradient(100deg, var(--sunken) 40%, var(--surface) 50%, var(--sunken) 60%); background-size: 200% 100%; animation: shimmer 1.6s infinite linear; opacity: 0.7; }
@keyframes shimmer { to { background-position: -200% 0; } }
`
