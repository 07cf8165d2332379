import { join } from 'node:path'
import type { Client } from '../client/index.ts'
import { SluiceError } from '../errors.ts'
import { reachServer, serverOf } from './control/reach.ts'
import type { Environment, Host } from './host.ts'
import type { Place } from './place.ts'

/** The server that is meant, if one is. A store or a folder that is not the usual one was named by somebody. */
export function remotePlace(
  place: Place,
  usual: Pick<Place, 'store' | 'folder'>,
  environment: Environment,
): string | null {
  const { server, store, folder } = place
  return serverOf(
    {
      ...(server === undefined ? {} : { server }),
      ...(store === usual.store ? {} : { store }),
      ...(folder === usual.folder ? {} : { folder }),
    },
    environment,
  )
}

/** What was not typed is what the environment says: the store itself, or the folder in which all lies. */
export function localPlace<P extends Place>(
  place: P,
  usual: Pick<Place, 'store' | 'folder'>,
  environment: Environment,
): P {
  const { SLUICE_STORE: store, SLUICE_FOLDER: folder } = environment
  return {
    ...place,
    store: place.store === usual.store ? store || (folder ? join(folder, usual.store) : place.store) : place.store,
    folder: place.folder === usual.folder && folder ? join(folder, usual.folder) : place.folder,
  }
}

export async function remoteClient(
  url: string,
  place: Place,
  environment: Environment,
  clock: Host['clock'],
): Promise<Client> {
  const { tokenFile } = place
  const reached = await reachServer(url, tokenFile === undefined ? {} : { tokenFile }, { environment, clock })
  return reached.client
}

export function onlyHere(what: string): SluiceError {
  return new SluiceError('unsupported', `${what} is done where the files are: run it there, without --server.`)
}
