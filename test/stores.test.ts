import { memoryStore } from '../src/store/memory/index.ts'
import type { Open } from '../src/testing/index.ts'
import { conformance } from '../src/testing/index.ts'

const memory: Open = async ({ clock, limits = {} }) => {
  const store = memoryStore({ clock, limits })
  return { store, reopen: async () => store, close: () => store.close() }
}

conformance('memory', memory)
