import { shortCount } from '../format.ts'
import type { Live } from '../live.ts'
import { useBeat } from '../loading.ts'
import { html, useEffect, useRef, type VNode } from '../view.ts'

const lengthSecondsMin = 60
const lengthSecondsMax = 300
const plotHeight = 200

interface Drawn {
  setData(data: unknown): void
  setSize(size: { readonly width: number; readonly height: number }): void
  destroy(): void
}

/** Moves per second. Loaded only where there is a plot, after everything else is on the page. */
export function ThroughputPlot(): VNode {
  const live = useBeat()
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<Drawn | null>(null)
  useEffect(() => {
    let isOver = false
    let redraw = () => {}
    const draw = async () => {
      const element = place.current
      if (!element) return
      addStyles()
      const { default: UPlot } = await import('uplot')
      if (isOver) return
      plot.current?.destroy()
      plot.current = new UPlot(optionsOf(element), dataOf(live), element) as unknown as Drawn
    }
    redraw = () => void draw()
    const resized = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry?.contentRect.width ?? 0)
      if (width > 0) plot.current?.setSize({ width, height: plotHeight })
    })
    if (place.current) resized.observe(place.current)
    // Colours are read when it is drawn: another theme is another drawing.
    addEventListener('themechange', redraw)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', redraw)
    redraw()
    return () => {
      isOver = true
      resized.disconnect()
      removeEventListener('themechange', redraw)
      scheme.removeEventListener('change', redraw)
      plot.current?.destroy()
      plot.current = null
    }
  }, [live])
  useEffect(() => {
    if (!live.isPaused) plot.current?.setData(dataOf(live))
  })
  const { moves, births } = live.series(60)
  const sum = (list: readonly (number | null)[]) => list.reduce<number>((all, one) => all + (one ?? 0), 0)
  return html`<div class="plot" ref=${place} role="img"
    aria-label=${`In the last minute: ${sum(moves)} moves, ${sum(births)} entities created.`}></div>`
}

/** The plot's own stylesheet lies beside these modules. */
function addStyles(): void {
  if (document.querySelector('link[data-plot]')) return
  const link = document.createElement('link')
  link.rel = 'stylesheet'
  link.dataset.plot = ''
  link.href = new URL('../../../plot.css', import.meta.url).href
  document.head.append(link)
}

/** What is not known is not drawn as nothing. */
function lengthOf({ knownSeconds }: Live): number {
  return Math.max(lengthSecondsMin, Math.min(lengthSecondsMax, knownSeconds))
}

function dataOf(live: Live): [number[], (number | null)[]] {
  // Only moves: a file that is split makes a million entities at once, and all else would lie flat beside it.
  const { at, moves } = live.series(lengthOf(live))
  return [[...at], [...moves]]
}

const minutes = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const seconds = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })

function clockText(time: number, isFine: boolean): string {
  return (isFine ? seconds : minutes).format(new Date(time * 1_000))
}

function optionsOf(element: HTMLElement) {
  const styles = getComputedStyle(document.documentElement)
  const colour = (name: string) => styles.getPropertyValue(name).trim()
  const font = '11px system-ui, sans-serif'
  const axis = { stroke: colour('--faint'), font, ticks: { show: false }, grid: { stroke: colour('--line'), width: 1 } }
  return {
    width: Math.max(240, Math.floor(element.clientWidth)),
    height: plotHeight,
    cursor: { y: false, points: { size: 6 } },
    legend: { show: false },
    scales: { y: { range: (_: unknown, __: number, max: number): [number, number] => [0, Math.max(5, max * 1.15)] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        space: 80,
        size: 30,
        values: (_: unknown, times: number[]) =>
          times.map((time, index) => clockText(time, (times[index + 1] ?? time) - (times[index - 1] ?? time) < 120)),
      },
      { ...axis, size: 52, space: 36, values: (_: unknown, counts: number[]) => counts.map(shortCount) },
    ],
    series: [
      {},
      {
        label: 'moves/s',
        stroke: colour('--active-bar'),
        width: 1.8,
        fill: `${colour('--active-bar')}22`,
        points: { show: false },
      },
    ],
  }
}
