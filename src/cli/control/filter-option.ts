import { InvalidArgumentError } from 'commander'
import { stateOutcomes } from '../../state-outcome.ts'
import { labelValue, oneOf, wholeNumber } from '../option.ts'
import type { FilterOptions } from './list.ts'

const fields = 'machine, version, state, outcome, parent, lane, collection, label.NAME, settled, reason'

/** `--filter state=failed`, once for each field; several states with commas. */
export function filterField(text: string, before: FilterOptions = {}): FilterOptions {
  const { name, value } = labelValue(text)
  if (name.startsWith('label.')) return { ...before, label: { name: name.slice('label.'.length), value } }
  switch (name) {
    case 'machine':
    case 'lane':
    case 'collection':
    case 'reason':
      return { ...before, [name]: value }
    case 'version':
      return { ...before, machineVersion: wholeNumber(value) }
    case 'parent':
      return { ...before, parent: wholeNumber(value) }
    case 'state':
      return { ...before, state: [...(before.state ?? []), ...value.split(',')] }
    case 'outcome':
      return { ...before, outcome: [...(before.outcome ?? []), ...value.split(',').map(oneOf(...stateOutcomes))] }
    case 'settled':
      if (value !== 'true' && value !== 'false') break
      return value === 'true' ? { ...before, settled: true } : { ...before, open: true }
    default:
  }
  throw new InvalidArgumentError(`FIELD=VALUE was expected, with one of ${fields}.`)
}
