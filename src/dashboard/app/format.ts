/** Figures and times as people read them. Pure: the time of reading is an argument. */
const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 })
const fine = new Intl.NumberFormat('en', { maximumFractionDigits: 1 })
const moment = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'long' })

export function countText(count: number): string {
  return whole.format(count)
}

/** For where there is little room: 12.3K. */
export function shortCount(count: number): string {
  return count < 10_000 ? whole.format(count) : short.format(count)
}

export function rateText(perSecond: number | null): string {
  if (perSecond === null) return '–'
  if (perSecond >= 10_000) return `${short.format(perSecond)}/s`
  return `${(perSecond >= 100 ? whole : fine).format(perSecond)}/s`
}

export function percentText(percent: number): string {
  // 99.97 is not done: only what is complete says 100.
  if (percent >= 100) return '100 %'
  return `${fine.format(Math.floor(percent * 10) / 10)} %`
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

export function bytesText(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1_024 && unit < units.length - 1) {
    value /= 1_024
    unit += 1
  }
  return `${unit === 0 ? whole.format(value) : fine.format(value)} ${units[unit]}`
}

export function durationText(ms: number): string {
  const seconds = ms / 1_000
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (seconds < 10) return `${fine.format(seconds)} s`
  if (seconds < 60) return `${Math.floor(seconds)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return two(minutes, 'min', Math.floor(seconds % 60), 's', minutes < 10)
  const hours = Math.floor(minutes / 60)
  if (hours < 48) return two(hours, 'h', minutes % 60, 'min', true)
  return two(Math.floor(hours / 24), 'd', hours % 24, 'h', hours < 240)
}

function two(large: number, largeUnit: string, small: number, smallUnit: string, isFine: boolean): string {
  return isFine && small > 0 ? `${large} ${largeUnit} ${small} ${smallUnit}` : `${large} ${largeUnit}`
}

export function relativeTime(at: number, now: number): string {
  const distance = now - at
  if (Math.abs(distance) < 2_000) return 'just now'
  return distance > 0 ? `${coarse(distance)} ago` : `in ${coarse(-distance)}`
}

function coarse(ms: number): string {
  const steps = [
    [86_400_000, 'd'],
    [3_600_000, 'h'],
    [60_000, 'min'],
    [1_000, 's'],
  ] as const
  const [size, unit] = steps.find(([size]) => ms >= size) ?? [1_000, 's']
  return `${Math.floor(ms / size)} ${unit}`
}

const hour = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })

/** The time of day: 14:03:11. */
export function clockTime(at: number): string {
  return hour.format(new Date(at))
}

export function exactTime(at: number): string {
  return moment.format(new Date(at))
}

/** `upload_batch` as a heading: Upload batch. */
export function wordsOf(name: string): string {
  const words = name.replaceAll('_', ' ').trim()
  return words === '' ? name : words[0]!.toUpperCase() + words.slice(1)
}

/** A name from code as a label: `itemsPerSecond` and `refused_by` become Items per second, Refused by. */
export function labelText(name: string): string {
  const spaced = name.replace(/([a-z0-9])([A-Z])/g, '$1 $2')
  return wordsOf(spaced === name ? name : spaced.toLowerCase())
}

/** Only addresses that a click may safely open; all else is text. */
export function safeHref(text: string): string | null {
  if (/^\/(?!\/)/.test(text)) return text
  try {
    const { protocol, href } = new URL(text)
    return protocol === 'http:' || protocol === 'https:' ? href : null
  } catch {
    return null
  }
}
