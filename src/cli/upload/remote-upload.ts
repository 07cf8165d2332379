import type { Upload } from 'sluice/upload'
import type { Client } from '../../client/index.ts'
import { onlyHere } from '../remote-place.ts'

/** The upload family of a server: what is asked of it goes there. */
export function remoteUpload({ uploads }: Client): Upload {
  return {
    implementations: [],
    receive: (_control, source, { onProgress, uploadedBy: _ownToken, key: _ownKey, ...about }) =>
      uploads.send(counted(source, onProgress), about),
    batch: (_control, id) => uploads.batch(id),
    errors: (_control, id, page = {}) => uploads.errors(id, page),
    content: (_control, id) => uploads.content(id),
    // The server looks itself.
    checkCatalogue: async () => {},
    search: (query) => uploads.search({ ...query }),
    ancestors: (hnId, options = {}) => uploads.ancestors(hnId, { ...options }),
    descendants: (hnId, options = {}) => uploads.descendants(hnId, { ...options }),
    rebuild: async () => {
      throw onlyHere('Building the index anew')
    },
    stop: async () => {},
  }
}

async function* counted(
  source: AsyncIterable<Uint8Array>,
  onProgress: ((bytes: number) => void) | undefined,
): AsyncGenerator<Uint8Array, void, undefined> {
  let bytes = 0
  for await (const block of source) {
    yield block
    bytes += block.byteLength
    onProgress?.(bytes)
  }
}
