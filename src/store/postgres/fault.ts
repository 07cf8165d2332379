import pg from 'pg'
import { SluiceError } from '../../errors.ts'

/** What an error of the server or the driver says of itself. */
interface Told {
  readonly code?: string
  readonly message?: string
}

function toldOf(error: unknown): Told {
  return error !== null && typeof error === 'object' ? (error as Told) : {}
}

/** Two transactions stood in each other's way, or both made the same thing, and this one was undone: it is done again. */
export function isConflict(error: unknown): boolean {
  const { code } = toldOf(error)
  return code === '40001' || code === '40P01' || code === '55P03' || code === '23505'
}

/** An earlier statement of the same transaction has failed: that one tells why. */
export function isAftermath(error: unknown): boolean {
  return toldOf(error).code === '25P02'
}

/** Of a statement that the server passed over because of one before it. */
export function aftermath(): Error {
  return Object.assign(new Error('An earlier statement of the same transaction has failed.'), { code: '25P02' })
}

/** The server itself said no; otherwise the way to it is broken. */
export function isServerError(error: unknown): boolean {
  return error instanceof pg.DatabaseError
}

/** Nothing stands where something must. */
export function isMissing(error: unknown): boolean {
  return toldOf(error).code === '23502'
}

/** A value that the database will not have, whoever sends it; also how a statement of ours says that things are not as it was told. */
export function isRefusedValue(error: unknown): boolean {
  const { code } = toldOf(error)
  return code !== undefined && (code.startsWith('22') || code === '54000')
}

/** The statement of a prepared name is not as it was: the tables were changed meanwhile. */
export function isStaleStatement(error: unknown): boolean {
  const { code, message = '' } = toldOf(error)
  return code === '26000' || (code === '0A000' && message.includes('cached plan'))
}

interface Advice {
  readonly code: 'invalid' | 'forbidden' | 'conflict' | 'unsupported' | 'internal'
  readonly text: string
}

const advices: Readonly<Record<string, Advice>> = {
  '28P01': {
    code: 'forbidden',
    text: 'The password was refused. Check user and password in the address, or PGPASSWORD.',
  },
  '28000': {
    code: 'forbidden',
    text: 'The server refuses this user from here. Check pg_hba.conf and the user in the address.',
  },
  '3D000': { code: 'invalid', text: 'There is no such database. Create it (createdb) or name another in the address.' },
  '42501': {
    code: 'forbidden',
    text: 'The role may not do this. Grant it CREATE on the database to migrate, or the rights of the guide docs/operating/postgres.md to run.',
  },
  '3F000': { code: 'conflict', text: 'The schema is not there. Run: sluice migrate.' },
  '42P01': { code: 'conflict', text: 'The tables are not there. Run: sluice migrate.' },
  '25006': {
    code: 'unsupported',
    text: 'The server is read-only: a replica, or set so. Give the address of the primary.',
  },
  '53300': {
    code: 'internal',
    text: 'The server has no connection left. Raise max_connections, or lower connectionsMax of these processes.',
  },
  '53100': { code: 'internal', text: "The server's disk is full. Free space; nothing was lost." },
  '08P01': {
    code: 'unsupported',
    text: 'What answers does not speak the whole protocol: a pooler in transaction mode? Use session mode, or connect directly.',
  },
}

/** The server says so while it stops or starts, or the way to it is cut: nothing is wrong with what was asked. */
const passing = new Set([
  '57P01',
  '57014',
  '25P03',
  '57P02',
  '57P03',
  '08000',
  '08003',
  '08006',
  '08001',
  '08004',
  '53300',
  '53400',
  '53200',
])

export function isPassing(error: unknown): boolean {
  const { code, message = '' } = toldOf(error)
  if (code !== undefined && passing.has(code)) return true
  if (code !== undefined && /^(ECONN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EAI_AGAIN)/.test(code)) return true
  return /Connection terminated|connection timeout|timeout expired|Connection ended|Client has encountered a connection error|server closed|trying to connect|Query read timeout/i.test(
    message,
  )
}

/** They speak of the address while a process starts, and of a moment (a failover, a name server) once it has worked. */
const doubtful = new Set(['ENOTFOUND', 'EAI_AGAIN', '25006', '08P01', '3D000', '28000', '28P01', '53300'])

/** Whatever went wrong, in words that say what to change. */
export function explained(error: unknown, where: string, hasWorked: boolean): unknown {
  if (error instanceof SluiceError) return error
  const { code, message = '' } = toldOf(error)
  if (hasWorked && code !== undefined && doubtful.has(code)) {
    return new SluiceError(
      'internal',
      `PostgreSQL at ${where} cannot be used now: ${message}`,
      passingDetail(code),
      error,
    )
  }
  const advice = code === undefined ? undefined : advices[code]
  if (advice) {
    const detail = isPassing(error) ? passingDetail(code) : { sqlstate: code }
    return new SluiceError(advice.code, `PostgreSQL at ${where}: ${advice.text} (${message})`, detail, error)
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return new SluiceError(
      'invalid',
      `PostgreSQL at ${where}: there is no host of this name. Check the address.`,
      { code },
      error,
    )
  }
  if (code === 'ECONNREFUSED') {
    return new SluiceError(
      'internal',
      `PostgreSQL at ${where}: nobody answers there. Is the server running, and is the port right?`,
      passingDetail(code),
      error,
    )
  }
  if (isPassing(error)) {
    return new SluiceError(
      'internal',
      `PostgreSQL at ${where}: the connection was lost (${message}).`,
      passingDetail(code),
      error,
    )
  }
  if (code !== undefined && /^[0-9A-Z]{5}$/.test(code)) {
    return new SluiceError('internal', `PostgreSQL at ${where}: ${message}`, { sqlstate: code }, error)
  }
  return error
}

/** Whoever asked may ask again: the server is told from one that is broken. */
function passingDetail(code: string | undefined): Readonly<Record<string, unknown>> {
  return { passing: true, ...(code === undefined ? {} : { code }) }
}
