/** One worker process and its lease over all that it claimed: renewed as a whole. */
export interface Worker {
  readonly id: number
  readonly name: string
  readonly host: string
  readonly pid: number
  /** Version of the program, for people. */
  readonly program: string
  /** Empty: every role. */
  readonly roles: readonly string[]
  /** Machines that it serves, as `name@version`. */
  readonly machines: readonly string[]
  readonly startedAt: number
  readonly renewedAt: number
  readonly expiresAt: number
  /** How many entities it holds. */
  readonly leases: number
}

export type WorkerIdentity = Pick<Worker, 'name' | 'host' | 'pid' | 'program' | 'roles' | 'machines'>

/** The error of a run whose lease the renewing thread ended: it knows deadlines, not processors. Whoever records it says more. */
export const outranTimeout = 'The run took longer than its timeout.'
