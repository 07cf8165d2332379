/** The frame around every page: navigation, headings, grids. */
export const frame = `
.frame { display: grid; grid-template-columns: 224px minmax(0, 1fr); min-height: 100vh; }
.skip { position: absolute; left: 12px; top: -60px; z-index: 30; padding: 9px 14px; background: var(--accent); color: var(--accent-ink); border-radius: 8px; }
.skip:focus { top: 12px; }
.side { position: sticky; top: 0; height: 100vh; display: flex; flex-direction: column; gap: 22px; padding: 22px 14px 18px; border-right: 1px solid var(--line); background: var(--surface); }
.brand { display: flex; align-items: center; gap: 10px; padding: 0 10px; font-weight: 680; font-size: 1.1rem; letter-spacing: -0.015em; color: var(--ink); }
.brand:hover { text-decoration: none; }
.brand svg { width: 28px; height: 28px; flex: none; }
.side .find { position: relative; padding: 0 4px; }
.side div.find { min-height: 34px; }
.side .find input { min-height: 34px; }
.side .find p { font-size: 0.85rem; padding: 6px 4px 0; }
.side .find ul { padding-top: 6px; }
.side .find li { display: grid; gap: 2px; padding: 5px 4px; justify-items: start; font-size: 0.9rem; }
.side nav ul { display: grid; gap: 2px; }
.side nav a { display: flex; align-items: center; gap: 10px; padding: 8px 11px; border-radius: var(--radius-small); color: var(--soft); font-weight: 520; font-size: 0.93rem; }
.side nav a:hover { background: var(--sunken); color: var(--ink); text-decoration: none; }
.side nav a[aria-current='page'] { background: var(--accent-tint); color: var(--accent); }
.side nav svg { width: 17px; height: 17px; flex: none; stroke: currentColor; fill: none; stroke-width: 1.8; stroke-linecap: round; stroke-linejoin: round; }
.side .foot { margin-top: auto; display: grid; gap: 10px; padding: 0 4px; }
.side .who { padding: 0 7px; font-size: 0.83rem; color: var(--faint); line-height: 1.45; overflow-wrap: anywhere; }
.side .who b { color: var(--soft); font-weight: 560; }
.controls { display: flex; gap: 6px; align-items: center; }
.controls .button { flex: 1; padding: 0 8px; }
.pulse { width: 8px; height: 8px; border-radius: 50%; background: var(--good-bar); flex: none; }
.pulse.connecting, .pulse.polling { background: var(--warn-bar); }
.pulse.silent { background: var(--bad-bar); }
.pulse.paused { background: var(--ended-bar); }
.pulse.live { animation: breathe 2.6s ease-in-out infinite; }
@keyframes breathe { 50% { opacity: 0.4; } }

main { padding: 30px 34px 64px; min-width: 0; max-width: 1320px; width: 100%; outline: none; }
main > .stack, .stack { display: grid; gap: 22px; align-content: start; grid-template-columns: minmax(0, 1fr); }
.silence { display: flex; flex-wrap: wrap; gap: 2px 10px; margin-bottom: 18px; padding: 12px 16px; border-radius: var(--radius); background: var(--bad-tint); color: var(--bad); border: 1px solid var(--bad-bar); font-size: 0.93rem; position: sticky; top: 10px; z-index: 20; }
.head { display: flex; flex-wrap: wrap; align-items: flex-start; justify-content: space-between; gap: 14px 24px; }
.head .title { display: grid; gap: 7px; min-width: 0; }
.head .line { display: flex; flex-wrap: wrap; gap: 7px 14px; align-items: center; font-size: 0.9rem; color: var(--soft); }
.head .buttons, .buttons { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
.crumbs { font-size: 0.86rem; color: var(--faint); display: flex; flex-wrap: wrap; gap: 6px; }
.crumbs .sep { color: var(--line-strong); }
.card { background: var(--surface); border: 1px solid var(--line); border-radius: var(--radius); box-shadow: var(--shadow); min-width: 0; }
.card > header { display: flex; flex-wrap: wrap; align-items: baseline; justify-content: space-between; gap: 6px 16px; padding: 16px 20px 0; }
.card > header .aside { font-size: 0.85rem; color: var(--faint); }
.card > .body { padding: 14px 20px 20px; }
.card > .body.flush { padding: 10px 0 6px; }
.card > header .aside label { display: flex; align-items: center; gap: 8px; white-space: nowrap; }
.card > header .aside select { min-height: 30px; padding: 3px 8px; font-size: 0.86rem; max-width: 240px; }
.columns { display: grid; gap: 22px; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); align-items: start; }
.columns.wide-left { grid-template-columns: minmax(0, 1.65fr) minmax(0, 1fr); }
.columns > :only-child { grid-column: 1 / -1; }
.tiles { display: grid; gap: 14px; grid-template-columns: repeat(auto-fit, minmax(170px, 1fr)); }
.tile { display: grid; align-content: start; gap: 2px; padding: 15px 18px 14px; color: var(--ink); border-radius: var(--radius); background: var(--surface); border: 1px solid var(--line); box-shadow: var(--shadow); }
a.tile:hover { border-color: var(--line-strong); text-decoration: none; }
.tile .label { font-size: 0.84rem; color: var(--soft); display: flex; gap: 8px; align-items: center; }
.tile .figure { font-size: 1.72rem; font-weight: 620; letter-spacing: -0.025em; line-height: 1.2; }
.tile .note { font-size: 0.82rem; color: var(--faint); }
.tile.bad .figure { color: var(--bad); }
.tile.warn .figure { color: var(--warn); }
.filters { display: grid; gap: 12px; grid-template-columns: repeat(auto-fill, minmax(168px, 1fr)); align-items: end; }
.tabs { display: flex; flex-wrap: wrap; gap: 4px; border-bottom: 1px solid var(--line); }
.tabs a { padding: 9px 14px; color: var(--soft); font-weight: 540; font-size: 0.93rem; border-bottom: 2px solid transparent; margin-bottom: -1px; }
.tabs a:hover { color: var(--ink); text-decoration: none; }
.tabs a[aria-current='page'] { color: var(--accent); border-color: var(--accent); }
.centre { max-width: none; min-height: 100vh; display: grid; place-items: center; padding: 24px; }
.centre .card { width: min(420px, 100%); padding: 30px; display: grid; gap: 20px; }

@media (max-width: 900px) {
  .frame { grid-template-columns: minmax(0, 1fr); grid-template-rows: auto 1fr; }
  .side { position: static; height: auto; flex-direction: row; flex-wrap: wrap; align-items: center; gap: 10px 14px; padding: 12px 16px 8px; border-right: 0; border-bottom: 1px solid var(--line); }
  .side nav { order: 3; width: 100%; }
  .side nav ul { display: grid; grid-template-columns: repeat(auto-fit, minmax(104px, 1fr)); gap: 2px; }
  .side nav a { padding: 7px 10px; white-space: nowrap; }
  .side .find { order: 2; width: 100%; padding: 0; }
  .side .foot { margin: 0 0 0 auto; }
  .side .who { display: none; }
  .brand { padding: 0; }
  main { padding: 20px 16px 48px; }
  .columns, .columns.wide-left { grid-template-columns: minmax(0, 1fr); }
  h1 { font-size: 1.36rem; }
  .card > header { padding: 14px 16px 0; }
  .card > .body { padding: 12px 16px 16px; }
  .tiles { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 10px; }
  .tile { padding: 12px 14px; }
}
`
