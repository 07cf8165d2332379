import type { Clock } from '../clock.ts'
import type { Section } from '../transfer.ts'

export interface TransferProgress {
  readonly phase: 'waiting' | 'copying' | 'verifying'
  /** Null while it waits for workers to be gone. */
  readonly section: Section | null
  readonly done: number
  readonly total: number
}

/** Who follows a transfer, and may end it: it goes on from there when it is asked for again. */
export interface Watcher {
  readonly signal?: AbortSignal
  onProgress(progress: TransferProgress): void
}

/** One group is done: whoever wants to end it has his turn, and what else the process has to do. */
export async function rest({ signal }: Watcher, clock: Clock): Promise<void> {
  await new Promise<void>((resolve) => clock.soon(resolve))
  signal?.throwIfAborted()
}
