import { SluiceError } from '../../errors.ts'

const unitMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A span of time in milliseconds, or as people write it: `250ms`, `30s`, `5m`, `2h`, `1d`, `1h30m`. */
export type Duration = number | string

export function durationMs(duration: Duration): number {
  if (typeof duration === 'number' && Number.isFinite(duration) && duration >= 0) return duration
  const text = String(duration)
  if (!/^(\d+(\.\d+)?(ms|s|m|h|d))+$/.test(text)) {
    throw new SluiceError(
      'invalid',
      `${JSON.stringify(duration)} is no duration; write milliseconds, or 250ms, 30s, 5m, 2h, 1d, 1h30m.`,
      { duration },
    )
  }
  let sumMs = 0
  for (const [, amount, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) sumMs += Number(amount) * unitMs[unit!]!
  return sumMs
}

/** The two biggest units that say something: `30d`, `1h 30m`, `250ms`. */
export function durationText(spanMs: number): string {
  let restMs = Math.round(spanMs)
  const parts: string[] = []
  for (const unit of ['d', 'h', 'm', 's', 'ms']) {
    const amount = Math.floor(restMs / unitMs[unit]!)
    restMs -= amount * unitMs[unit]!
    if (amount > 0) parts.push(`${amount}${unit}`)
  }
  return parts.slice(0, 2).join(' ') || '0ms'
}
