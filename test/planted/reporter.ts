import type { TestEvent } from 'node:test/reporters'

/** How one test ended, as one line of JSON. */
export interface Ending {
  readonly test: string
  readonly passed: boolean
  /** Of the error that failed it: its code or name, and its message. */
  readonly error: { readonly kind: string; readonly message: string } | null
}

/** Writes the end of every test, and of no suite. */
// biome-ignore lint/style/noDefaultExport: node:test takes a reporter as the default export of its module.
export default async function* reporter(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const event of events) {
    if (event.type !== 'test:pass' && event.type !== 'test:fail') continue
    if (event.data.details.type === 'suite') continue
    const error = event.type === 'test:fail' ? errorOf(event.data.details.error) : null
    const ending: Ending = { test: event.data.name, passed: event.type === 'test:pass', error }
    yield `${JSON.stringify(ending)}\n`
  }
}

/** The runner wraps what a test threw, and a property wraps what its smallest counterexample threw. */
function errorOf(wrapper: Error): Ending['error'] {
  const thrown = wrapper.cause instanceof Error ? wrapper.cause : wrapper
  const isProperty = thrown.message.startsWith('Property failed after') && thrown.cause instanceof Error
  const error = isProperty ? (thrown.cause as Error) : thrown
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return { kind: code, message: error.message }
}
