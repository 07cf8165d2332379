import { writeSync } from 'node:fs'
import { Documents, withCatalogue } from './sample-items.ts'

/** Puts group after group, with a fold under way all the time, until it is killed: for the test that kills it. Arguments: folder, first id, ids of a group. */
const [folder = '', first = '1', group = '500'] = process.argv.slice(2)
const documents = new Documents()

withCatalogue({ folder, textIndex: true, readDocument: documents.read, freshMax: 1_000 }, (catalogue) => {
  for (let from = Number(first); ; from += Number(group)) {
    const entries = Array.from({ length: Number(group) }, (_, index) => {
      const hnId = from + index
      return documents.entry(hnId, 1, {
        hnId,
        type: 'comment',
        parent: hnId - 1,
        by: `ann${hnId % 97}`,
        text: `tide ${hnId}`,
      })
    })
    catalogue.put(entries)
    catalogue.foldStep()
    writeSync(1, `${from + Number(group) - 1}\n`)
  }
})
