import { SluiceError } from '../../errors.ts'
import type { Host } from '../host.ts'
import { Interrupt } from '../interrupt.ts'
import { serverOf } from '../place.ts'
import { plain } from '../text.ts'
import { detailOf, isNotification, isOver } from './batch.ts'
import { finishNotification } from './finish.ts'
import { notificationIn } from './notification-file.ts'
import { openToWork, type Place } from './place.ts'

export interface NotifyOptions extends Place {
  readonly notify?: string
}

const serversOwn = '--notify goes without a server: that is for the server to say.'
const settingsNeeded = '--notify FILE is needed: it has the settings of webhook and mail, which are in no store.'

/** Sends the notification of a batch that has ended: again, if it was sent before. The receiver gets the same key each time. */
export async function notify(id: number, { notify, ...place }: NotifyOptions, host: Host): Promise<number> {
  const interrupt = new Interrupt(
    host.signals,
    () => {},
    (status) => host.exit(status),
  )
  const isRemote = serverOf(place, host.environment) !== null
  if (isRemote !== (notify === undefined)) throw new SluiceError('invalid', isRemote ? serversOwn : settingsNeeded)
  const settings = notify === undefined ? {} : { notification: await notificationIn(notify) }
  const opened = await openToWork(place, host.environment, settings)
  try {
    const { control, upload } = opened
    const found = await detailOf(control, id)
    if (!isOver(found)) throw new SluiceError('conflict', `Batch ${id} is ${found.state}: it has not ended yet.`)
    // One that waits already is sent by this process, as soon as it is due.
    if (!found.request || !isNotification(found.request)) await control.act(id, 'notify', { actor: host.user })
    await finishNotification(opened, id, host, interrupt)
    const { notification } = await upload.batch(control, id)
    if (notification?.sent) {
      host.terminal.out(`The notification of batch ${id} was sent.\n`)
      return 0
    }
    const later = notification?.waiting ? ' yet' : ''
    host.terminal.out(
      `The notification of batch ${id} was not sent${later}: ${plain(notification?.error ?? 'no answer.')}\n`,
    )
    return 1
  } finally {
    interrupt.close()
    await opened.close()
  }
}
