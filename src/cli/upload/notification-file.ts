import { readFile } from 'node:fs/promises'
import type { NotificationSettings } from 'sluice/upload'
import { SluiceError } from '../../errors.ts'

/** From a file, not from the command line: what is typed there is seen by every user of the machine. */
export async function notificationIn(file: string): Promise<NotificationSettings> {
  const text = await readFile(file, 'utf8')
  try {
    return JSON.parse(text)
  } catch {
    throw new SluiceError('invalid', `The notification settings in ${file} are not JSON.`)
  }
}
