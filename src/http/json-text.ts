import { isUtf8 } from 'node:buffer'
import { messageOf } from '../errors.ts'
import { mayHoldTextFault, textFaultsIn } from '../storable-text.ts'
import { HttpRefusal, invalid } from './problem.ts'

/**
 * Parses a body as JSON that means the same to whoever reads it later: no broken text, no numbers that would be rounded, no nesting that
 * breaks a recursive reader, no names that reach into prototypes, no text that not every store can keep.
 */
export function parseJson(bytes: Buffer, depthMax: number): unknown {
  if (!isUtf8(bytes)) throw malformed('it is not valid UTF-8')
  const text = bytes.toString('utf8')
  checkText(text, depthMax)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw malformed(messageOf(error, 300))
  }
  // Names may be written with escapes, so texts that could hold one are walked through.
  if (/__proto__|constructor|\\u00/.test(text)) refusePrototypes(value, '')
  if (mayHoldTextFault(text)) refuseTextFaults(value)
  return value
}

function refuseTextFaults(value: unknown): void {
  const faults = textFaultsIn(value).slice(0, faultsMax)
  if (faults.length === 0) return
  throw invalid(faults.map(({ path, fault }) => ({ in: 'body', path: path.slice(0, 200), message: fault })))
}

const faultsMax = 50

function malformed(why: string): HttpRefusal {
  const message = `The body is not the JSON that is expected: ${why}`
  return new HttpRefusal('invalid', `${message}.`, { faults: [{ in: 'body', path: '', message: why }] })
}

const quote = 0x22
const backslash = 0x5c
const minus = 0x2d
const zero = 0x30
const nine = 0x39

function checkText(text: string, depthMax: number): void {
  let depth = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at)
    else if (code === 0x7b || code === 0x5b) {
      depth += 1
      if (depth > depthMax) throw malformed(`it is nested more than ${depthMax} deep, at character ${at}`)
    } else if (code === 0x7d || code === 0x5d) depth -= 1
    else if (code === minus || (code >= zero && code <= nine)) at = endOfNumber(text, at)
  }
}

function endOfString(text: string, begin: number): number {
  for (let at = begin + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === backslash) at += 1
    else if (code === quote) return at
  }
  return text.length
}

function endOfNumber(text: string, begin: number): number {
  let end = begin + 1
  let isWhole = true
  for (; end < text.length; end += 1) {
    const code = text.charCodeAt(end)
    if (code >= zero && code <= nine) continue
    // . e E + -
    if (code !== 0x2e && code !== 0x65 && code !== 0x45 && code !== 0x2b && code !== minus) break
    isWhole = false
  }
  if (end - begin > 15 || !isWhole) checkNumber(text.slice(begin, end), isWhole, begin)
  return end - 1
}

function checkNumber(digits: string, isWhole: boolean, at: number): void {
  const value = Number(digits)
  // What is no number at all is left to the parser, which says it better.
  if (Number.isNaN(value)) return
  // Written again it must be the same digits: what is rounded on the way would be another number, or another id.
  if (!Number.isFinite(value) || (isWhole && String(value) !== digits)) {
    throw malformed(`the number ${digits.slice(0, 40)} at character ${at} is beyond what can be kept exactly`)
  }
}

function refusePrototypes(value: unknown, path: string): void {
  if (typeof value !== 'object' || value === null) return
  for (const [name, inner] of Object.entries(value)) {
    const where = path === '' ? name : `${path}.${name}`
    const isPrototype =
      name === '__proto__' ||
      (name === 'constructor' && typeof inner === 'object' && inner !== null && Object.hasOwn(inner, 'prototype'))
    if (isPrototype) throw malformed(`the name ${where} is not allowed`)
    refusePrototypes(inner, where)
  }
}
