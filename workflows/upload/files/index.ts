export { sniffContentType } from './content-type.ts'
export { checkFile, type FileCheck } from './file-check.ts'
export {
  type Cursor,
  defaultElementLimits,
  type ElementLimits,
  type FileFault,
  type Form,
  forms,
} from './file-fault.ts'
export { fileSource } from './file-source.ts'
export { FileStore, type FileStoreOptions, type Receiving, type StoredFile } from './file-store.ts'
export { type ElementFault, type ElementGroup, FileWalk } from './file-walk.ts'
export { SliceReader } from './slice-reader.ts'
