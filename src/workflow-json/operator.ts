import { globMatcher } from './glob.ts'

/** Judges one value that a path led to; undefined: there was none. */
export type Test = (stored: unknown) => boolean

/** Why an operator cannot be judged with this operand here. */
export interface Unsupported {
  readonly unsupported: string
}

/**
 * The platforms' operators. One rule holds for all but the two tests of presence: what is missing or null never matches, not
 * even a negative operator.
 */
export function testOf(operation: string, operand: unknown): Test | Unsupported {
  const make = Object.hasOwn(operators, operation) ? operators[operation as keyof typeof operators] : undefined
  if (make) return make(operand)
  if (operation === 'IS_CHANGED' || operation === 'IS_UNCHANGED') {
    return { unsupported: `${operation} needs the data as it was before, which is not kept` }
  }
  return { unsupported: `the operator ${operation} is not known` }
}

type Maker = (operand: unknown) => Test | Unsupported

const operators = {
  IS_NULL: () => (stored) => stored === null || stored === undefined,
  NOT_NULL: () => (stored) => stored !== null && stored !== undefined,
  EQUALS: scalar((operand) => (stored) => compareValues(stored, operand) === 0),
  NOT_EQUAL: scalar((operand) => (stored) => isScalar(stored) && compareValues(stored, operand) !== 0),
  GREATER_THAN: order((sign) => sign > 0),
  LESS_THAN: order((sign) => sign < 0),
  GREATER_OR_EQUAL: order((sign) => sign >= 0),
  LESS_OR_EQUAL: order((sign) => sign <= 0),
  BETWEEN: range((low, high) => low > 0 && high < 0),
  BETWEEN_INCLUSIVE: range((low, high) => low >= 0 && high <= 0),
  CONTAINS: text((stored, operand) => stored.includes(operand)),
  NOT_CONTAINS: text((stored, operand) => !stored.includes(operand)),
  STARTS_WITH: text((stored, operand) => stored.startsWith(operand)),
  NOT_STARTS_WITH: text((stored, operand) => !stored.startsWith(operand)),
  ENDS_WITH: text((stored, operand) => stored.endsWith(operand)),
  NOT_ENDS_WITH: text((stored, operand) => !stored.endsWith(operand)),
  IEQUALS: anyCase((stored, operand) => stored === operand),
  INOT_EQUAL: anyCase((stored, operand) => stored !== operand),
  ICONTAINS: anyCase((stored, operand) => stored.includes(operand)),
  INOT_CONTAINS: anyCase((stored, operand) => !stored.includes(operand)),
  ISTARTS_WITH: anyCase((stored, operand) => stored.startsWith(operand)),
  INOT_STARTS_WITH: anyCase((stored, operand) => !stored.startsWith(operand)),
  IENDS_WITH: anyCase((stored, operand) => stored.endsWith(operand)),
  INOT_ENDS_WITH: anyCase((stored, operand) => !stored.endsWith(operand)),
  LIKE: pattern((operand) => globMatcher(operand) ?? { unsupported: `the pattern ${operand} ends in a lone \\` }),
  MATCHES_PATTERN: pattern(expression),
} as const satisfies Record<string, Maker>

export const operatorNames: readonly string[] = Object.keys(operators)

type Scalar = string | number | boolean

function isScalar(value: unknown): value is Scalar {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean'
}

/**
 * The sign of stored against operand; null where they cannot be compared. The stored value's type decides: a number is
 * compared with a number or a text that is one, a text with a text, and two instants by time.
 */
export function compareValues(stored: unknown, operand: unknown): number | null {
  if (typeof stored === 'number') {
    const number = numberOf(operand)
    return number === null ? null : Math.sign(stored - number)
  }
  if (typeof stored === 'string' && typeof operand === 'string') {
    const [one, other] = [instantOf(stored), instantOf(operand)]
    if (one !== null && other !== null) return Math.sign(one - other)
    return stored < operand ? -1 : stored > operand ? 1 : 0
  }
  // Truth is equal or not; it has no order.
  if (typeof stored === 'boolean') return String(stored) === String(operand) ? 0 : null
  return null
}

function numberOf(operand: unknown): number | null {
  if (typeof operand === 'number') return operand
  if (typeof operand !== 'string' || !/^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(operand)) return null
  return Number(operand)
}

const instantPattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:\d{2})$/

function instantOf(text: string): number | null {
  const at = instantPattern.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(at) ? null : at
}

function scalar(make: (operand: Scalar | null) => Test): Maker {
  return (operand) => {
    if (operand === undefined || operand === null) return make(null)
    return isScalar(operand) ? make(operand) : { unsupported: 'the value must be a text, a number, true or false' }
  }
}

function order(holds: (sign: number) => boolean): Maker {
  return scalar((operand) => (stored) => {
    if (typeof stored === 'boolean') return false
    const sign = compareValues(stored, operand)
    return sign !== null && holds(sign)
  })
}

function range(holds: (low: number, high: number) => boolean): Maker {
  return (operand) => {
    if (!Array.isArray(operand) || operand.length !== 2 || !operand.every(isScalar)) {
      return { unsupported: 'the value must be a list of two bounds' }
    }
    return (stored) => {
      if (typeof stored === 'boolean') return false
      const [low, high] = operand.map((bound) => compareValues(stored, bound))
      return typeof low === 'number' && typeof high === 'number' && holds(low, high)
    }
  }
}

/** Only texts match, never numbers that look like them; the operand is taken as text. */
function text(holds: (stored: string, operand: string) => boolean): Maker {
  return scalar((operand) => {
    const wanted = operand === null ? '' : String(operand)
    return (stored) => typeof stored === 'string' && holds(stored, wanted)
  })
}

function anyCase(holds: (stored: string, operand: string) => boolean): Maker {
  return text((stored, operand) => holds(stored.toLowerCase(), operand.toLowerCase()))
}

function pattern(make: (operand: string) => ((text: string) => boolean) | Unsupported): Maker {
  return (operand) => {
    if (typeof operand !== 'string') return { unsupported: 'the value must be a pattern' }
    const matcher = make(operand)
    if ('unsupported' in matcher) return matcher
    // A pattern over a very long text could hold up everything else.
    return (stored) => typeof stored === 'string' && stored.length <= patternTextMax && matcher(stored)
  }
}

export const patternTextMax = 10_000

/** The whole text must match. What differs between the platforms' dialects is refused, not guessed. */
function expression(operand: string): ((text: string) => boolean) | Unsupported {
  if (/\\[1-9]|\(\?<?[=!]/.test(operand)) {
    return { unsupported: `the pattern ${operand} looks around or back, which not every platform can` }
  }
  const [, flags = '', rest = ''] = /^(?:\(\?([ims]+)\))?([\s\S]*)$/.exec(operand) ?? []
  for (const unicode of ['u', '']) {
    try {
      // First alone: what is no pattern by itself must not become one inside the brackets.
      new RegExp(rest, flags + unicode)
      const compiled = new RegExp(`^(?:${rest})$`, flags.replace('m', '') + unicode)
      return (text) => compiled.test(text)
    } catch {
      // Older patterns escape signs that the stricter reading does not allow: the looser one may take them.
    }
  }
  return { unsupported: `the pattern ${operand} cannot be read` }
}
