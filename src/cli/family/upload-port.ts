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
    async search(query) {
      await upload.checkCatalogue(control)
      return upload.search(query)
    },
    async ancestors(hnId, options) {
      await upload.checkCatalogue(control)
      return upload.ancestors(hnId, options)
    },
    async descendants(hnId, options) {
      await upload.checkCatalogue(control)
      return upload.descendants(hnId, options)
    },
  }
}
