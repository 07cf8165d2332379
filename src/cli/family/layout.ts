import { join } from 'node:path'
import { storeText } from '../store-address.ts'

/** Where all of one Sluice lies. */
export interface Layout {
  /** Its address; on a server only the store is elsewhere, the rest is in the folder all the same. */
  readonly store: string
  readonly upload: string
  readonly jobs: string
  /** Tokens, and the answers that a server has given. */
  readonly server: string
}

export const folderDefault = '.'

/** One folder holds everything, under the names that the commands of the families use by themselves. */
export function layoutOf(folder: string = folderDefault, store?: string): Layout {
  return {
    store: store === undefined ? join(folder, 'sluice.db') : storeText(store),
    upload: join(folder, 'sluice-upload'),
    jobs: join(folder, 'sluice-jobs'),
    server: join(folder, 'sluice-server'),
  }
}

export function tokenFile({ server }: Layout): string {
  return join(server, 'tokens.json')
}

export function answerFile({ server }: Layout): string {
  return join(server, 'http.db')
}
