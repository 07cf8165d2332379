import { SluiceError } from '../errors.ts'

const units: Readonly<Record<string, number>> = {
  '': 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
}

/** `10GiB`, `1.5 MB`, `4096`: the bytes that it means. */
export function parseSize(text: string): number {
  const [, number = '', unit = ''] = /^(\d{1,15}(?:\.\d{1,6})?)\s*([a-z]*)$/i.exec(text.trim()) ?? []
  const factor = units[unit.toLowerCase()]
  const bytes = number === '' || factor === undefined ? Number.NaN : Math.floor(Number(number) * factor)
  if (Number.isSafeInteger(bytes) && bytes > 0) return bytes
  throw new SluiceError('invalid', `A size such as 10GiB, 500MB or 4096 was expected; it was "${text.slice(0, 50)}".`)
}

/** Three digits at most before the unit, one after the dot where it says something. */
export function sizeOf(bytes: number): string {
  const names = ['B', 'KiB', 'MiB', 'GiB', 'TiB']
  let [value, index] = [bytes, 0]
  while (value >= 1_000 && index < names.length - 1) {
    value /= 1_024
    index += 1
  }
  return `${index === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${names[index]}`
}
