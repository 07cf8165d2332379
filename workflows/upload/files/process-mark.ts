import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'

/**
 * Names a process so that another one can later tell whether it still lives. A number alone does not do: after a crash it is
 * given to another process, and in a container to the very one that asks. So the time of its start goes with it, where the
 * system tells it. The host is part of it, because a folder may be shared and numbers mean nothing elsewhere.
 */
export function processMark(pid: number = process.pid): string {
  return `${hostMark()}-${pid}-${startOf(pid) ?? 'x'}`
}

/** False only if it is certain that the process has ended. */
export function mayLive(mark: string): boolean {
  const [host, pid, start] = mark.split('-')
  if (host !== hostMark()) return true
  const number = Number(pid)
  if (!Number.isSafeInteger(number) || number < 1 || !isRunning(number)) return false
  const now = startOf(number)
  return now === null || start === 'x' || now === start
}

function hostMark(): string {
  return createHash('sha256').update(hostname()).digest('hex').slice(0, 12)
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM: it runs, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The start of a process in ticks since the boot; null where there is no /proc. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name of the program is in brackets and may hold spaces; the start is the 20th word after it.
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null
  } catch {
    return null
  }
}
