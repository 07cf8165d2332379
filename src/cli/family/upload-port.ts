import { type Upload, uploadBatch, uploadItem } from 'sluice/upload'
import type { Control } from '../../control.ts'
import type { UploadFamily } from '../../http/families.ts'

/** The upload family as the API asks for it. */
export function uploadPort(upload: Upload, control: Control): UploadFamily {
  return {
    machines: [uploadBatch.name, uploadItem.name],
    receive: (source, { collection, ...about }) =>
      upload.receive(control, source, collection === null ? about : { ...about, collection }),
    view: (id, options) => upload.batch(control, id, options),
    errors: (id, page) => upload.errors(control, id, page),
    content: (id) => upload.content(control, id),
    search: (query) => upload.search(query),
    ancestors: (hnId, options) => upload.ancestors(hnId, options),
    descendants: (hnId, options) => upload.descendants(hnId, options),
  }
}
