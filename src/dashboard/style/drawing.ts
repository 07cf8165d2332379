/** The drawn machine and the plot. */
export const drawing = `
.map { overflow: auto; padding: 6px;
  background:
    linear-gradient(to right, var(--surface) 40%, transparent) left / 48px 100% no-repeat local,
    linear-gradient(to left, var(--surface) 40%, transparent) right / 48px 100% no-repeat local,
    linear-gradient(to right, var(--line-strong), transparent) left / 14px 100% no-repeat scroll,
    linear-gradient(to left, var(--line-strong), transparent) right / 14px 100% no-repeat scroll;
}
.map svg { margin: 0 auto; max-width: 100%; height: auto; font-family: var(--sans); }
.node rect { stroke-width: 1.4; rx: 11px; }
.node.empty rect { fill: var(--surface); stroke: var(--edge); }
.node.settled rect { stroke-dasharray: 5 3; }
.node.final rect { stroke-dasharray: none; stroke-width: 2.4; }
.node .name { font-size: 13px; font-weight: 560; fill: var(--ink); }
.node .count { font-size: 17px; font-weight: 660; letter-spacing: -0.02em; }
.node.empty .count { fill: var(--faint); font-weight: 500; font-size: 14px; }
a.node:hover { text-decoration: none; }
a.node:hover rect { stroke: var(--accent); }
a.node:focus-visible { outline: none; }
a.node:focus-visible rect { stroke: var(--accent); stroke-width: 3; }
.node.current rect { stroke: var(--accent); stroke-width: 3; }
.node.unvisited .name { fill: var(--faint); font-weight: 460; }
.node .start { fill: var(--faint); }
.edge path { fill: none; stroke: var(--edge); stroke-width: 1.5; }
.edge .hit { stroke: transparent; stroke-width: 13; stroke-dasharray: none; pointer-events: stroke; }
.edge:hover path:not(.hit) { stroke: var(--accent); }
.edge.manual path { stroke-dasharray: 2 4; }
.edge .tip { fill: var(--edge); stroke: none; }
.edge text { font-size: 11.5px; fill: var(--faint); paint-order: stroke; stroke: var(--surface); stroke-width: 4px; stroke-linejoin: round; }
.edge.flowing path:not(.hit) { stroke: var(--accent); stroke-width: 2.3; }
.edge.flowing .tip { fill: var(--accent); }
.edge.flowing text { fill: var(--active); font-weight: 620; }
.edge.visited path:not(.hit) { stroke: var(--accent); stroke-width: 2.4; }
.edge.visited .tip { fill: var(--accent); }
.edge.visited text { fill: var(--accent); font-weight: 620; }
.edge.unvisited text { display: none; }
.plot { min-height: 200px; }
.plot .u-legend { display: none; }
`
