import type { Client } from '../client/index.ts'
import { SluiceError } from '../errors.ts'
import { reachServer } from './control/reach.ts'
import type { Environment, Host } from './host.ts'
import type { Place } from './place.ts'

export async function remoteClient(
  url: string,
  place: Place,
  environment: Environment,
  clock: Host['clock'],
): Promise<Client> {
  const reached = await reachServer(url, place, { environment, clock })
  return reached.client
}

export function onlyHere(what: string): SluiceError {
  return new SluiceError('unsupported', `${what} is done where the files are: run it there, without --server.`)
}
