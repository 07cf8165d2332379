import { type Chunked, openChunked, type StartOptions } from 'sluice/chunked'
import type { Client, SentAttachment } from '../../client/index.ts'
import { SluiceError } from '../../errors.ts'
import { onlyHere } from '../remote-place.ts'

/** The chunked family of a server: jobs are started there; to look at them its control is enough. */
export function remoteChunked(client: Client): Chunked {
  const here = openChunked({ definitions: [] })
  return {
    ...here,
    // The server checks them itself when the job is started.
    check: () => {},
    async start(_control, job, parameters, options = {}) {
      const { version, key, again, priority, collection, attachments = [] } = options
      if (typeof job !== 'string') throw new SluiceError('unsupported', 'A server knows jobs by their names.')
      const request = {
        definition: job,
        parameters,
        ...(version === undefined ? {} : { version }),
        ...(key === undefined ? {} : { key }),
        ...(again === undefined ? {} : { again }),
        ...(priority === undefined ? {} : { priority }),
        ...(collection === undefined ? {} : { collection }),
      }
      return client.jobs.start(request, await listed(attachments))
    },
    sweep: async () => {
      throw onlyHere('Sweeping attachments')
    },
  }
}

async function listed(attachments: NonNullable<StartOptions['attachments']>): Promise<readonly SentAttachment[]> {
  const files: SentAttachment[] = []
  for await (const attachment of attachments) files.push(attachment)
  return files
}
