import { Resources } from './resources.ts'

/** Puts group after group, and says the last id of each once `put` has returned. For a test that kills it. */
const [file = '', from = '1', size = '1'] = process.argv.slice(2)
const resources = new Resources({ file, now: () => 1, index: () => ({ terms: [] }) })
const count = Number(size)
for (let first = Number(from); ; first += count) {
  const entries = Array.from({ length: count }, (_, at) => {
    const id = String(first + at)
    const terms = [
      { param: 'word', value: `w${id}` },
      { param: 'word', value: 'all' },
    ]
    return {
      type: 'Patient',
      id,
      json: `{"id":"${id}"}`,
      origin: { source: 's', line: first + at },
      index: () => ({ terms }),
    }
  })
  resources.put(entries, { key: `from ${first}` })
  process.stdout.write(`${first + count - 1}\n`)
}
