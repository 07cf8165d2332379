/** From the first millisecond to the last one. */
export interface DateBounds {
  readonly from: number
  readonly to: number
}

const pattern =
  /^(\d{4})(?:-(\d{2})(?:-(\d{2})(?:T(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{1,9}))?)?(Z|[+-]\d{2}:\d{2})?)?)?)?$/

/** The time that a FHIR date, dateTime or instant covers: 2020-02 is the whole month. Without a zone it is taken as UTC. */
export function dateBounds(text: string): DateBounds | null {
  const match = pattern.exec(text)
  if (!match) return null
  const [, year, month, day, hour, minute, second, fraction, zone] = match
  const part = (value: string | undefined, otherwise: number) => (value === undefined ? otherwise : Number(value))
  const milliseconds = fraction === undefined ? 0 : Math.floor(Number(`0.${fraction}`) * 1_000)
  const at = (years: number, months: number, days: number, minutes: number, seconds: number) =>
    utc(part(year, 0) + years, part(month, 1) - 1 + months, part(day, 1) + days) +
    ((part(hour, 0) * 60 + part(minute, 0) + minutes) * 60 + part(second, 0) + seconds) * 1_000 +
    milliseconds -
    offsetMs(zone)
  const from = at(0, 0, 0, 0, 0)
  const to = end()
  return Number.isFinite(from) && Number.isFinite(to) ? { from, to } : null

  function end(): number {
    if (month === undefined) return at(1, 0, 0, 0, 0) - 1
    if (day === undefined) return at(0, 1, 0, 0, 0) - 1
    if (hour === undefined) return at(0, 0, 1, 0, 0) - 1
    if (second === undefined) return at(0, 0, 0, 1, 0) - 1
    return fraction === undefined ? at(0, 0, 0, 0, 1) - 1 : from
  }
}

/** Date.UTC takes the years 0 to 99 for those of the twentieth century. */
function utc(year: number, month: number, day: number): number {
  const date = new Date(0)
  return date.setUTCFullYear(year, month, day)
}

function offsetMs(zone: string | undefined): number {
  if (zone === undefined || zone === 'Z') return 0
  const minutes = Number(zone.slice(1, 3)) * 60 + Number(zone.slice(4, 6))
  return (zone[0] === '-' ? -minutes : minutes) * 60_000
}
