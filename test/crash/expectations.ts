import type { Machine } from '../../src/machine.ts'
import type { Expectations } from './case.ts'
import { crashMachines } from './machines.ts'
import { planOfKey } from './plan.ts'

/** What must be true of the crash machines. */
export const crashExpectations: Expectations = {
  machines: crashMachines as readonly Machine[],
  plan: planOfKey,
  joins: [
    { machine: 'crash_batch', edge: 'open', lane: 'first' },
    { machine: 'crash_batch', edge: 'close', lane: null },
  ],
  gates: [{ machine: 'crash_batch', edge: 'open', lane: 'second' }],
  stops: [{ machine: 'crash_batch', edge: 'cancel' }],
}
