/**
 * A bug that somebody could have written, as a change of one place in a source. The product has no switch for it: it is
 * planted while the file is loaded (hook.ts), in a process of its own.
 */
export interface Bug {
  readonly name: string
  /** What the program does wrong with it, in a sentence. */
  readonly what: string
  /** The source from the root of the repository. */
  readonly file: string
  /** Must stand in the source exactly once: a bug that cannot be planted proves nothing. */
  readonly find: string
  readonly replace: string
  readonly caughtBy: Catcher
}

/** The test that must fail when the bug is planted, and pass when it is not. */
export interface Catcher {
  readonly layer: 'unit' | 'conformance' | 'simulation' | 'crash'
  /** The test file from the root of the repository. */
  readonly file: string
  /** The names of the test and of the suites around it, as one text. */
  readonly test: string
}

export function onMemory(heading: string, title: string): Catcher {
  return { layer: 'conformance', file: 'test/stores.test.ts', test: `memory store ${heading} ${title}` }
}

export function onSqlite(heading: string, title: string): Catcher {
  return { layer: 'conformance', file: 'test/stores.test.ts', test: `sqlite store ${heading} ${title}` }
}

export function inUnit(file: string, test: string): Catcher {
  return { layer: 'unit', file, test }
}

/** The source with the bug in it. */
export function plant(bug: Bug, source: string): string {
  const parts = source.split(bug.find)
  if (parts.length !== 2) {
    throw new Error(
      `The planted bug ${bug.name} is stale: ${JSON.stringify(bug.find)} stands ${parts.length - 1} times in ${bug.file}. Fit it to the source as it is now.`,
    )
  }
  return parts.join(bug.replace)
}
