import { z } from 'zod'
import { SluiceError } from '../../errors.ts'
import type { Machine, Schema } from '../../machine.ts'
import { type MachineAnswer, machineAnswer } from '../answer-schemas.ts'
import { nameText, wholeNumber } from '../asked-schemas.ts'
import type { Context } from '../context.ts'
import { jsonSchemaOf } from '../json-schema.ts'
import { noParams, noQuery, type Route, route } from '../route.ts'
import { ownPaths } from './submit-routes.ts'

const machineParams = z.strictObject({ name: nameText, version: wholeNumber(0, 1_000_000_000) })

export function machineRoutes({ control, families }: Context): readonly Route[] {
  const paths = ownPaths(families)
  const shown = (machine: Machine) => shownMachine(machine, paths)
  const find = async (name: string, version: number): Promise<Machine> => {
    const found = (await control.machines()).find((machine) => machine.name === name && machine.version === version)
    if (found) return found
    throw new SluiceError('not_found', `There is no machine ${name} of version ${version}.`, { name, version })
  }
  return [
    route({
      ...{ method: 'GET', path: '/api/machines', tag: 'machines', role: 'submitter' },
      summary: 'The machines that are known here, every version.',
      ...{ params: noParams, query: noQuery, body: null, statuses: [200] },
      isStable: true,
      answer: z.object({ machines: z.array(machineAnswer) }) as z.ZodType<{ machines: readonly MachineAnswer[] }>,
      handle: async () => ({ machines: (await control.machines()).map(shown) }),
    }),
    route({
      ...{ method: 'GET', path: '/api/machines/:name/:version', tag: 'machines', role: 'submitter' },
      summary: 'One machine as it is declared.',
      isStable: true,
      ...{ params: machineParams, query: noQuery, body: null, answer: machineAnswer, statuses: [200] },
      handle: async ({ params }) => shown(await find(params.name, params.version)),
    }),
  ]
}

function shownMachine(
  { schema, names: _names, ...machine }: Machine,
  paths: ReadonlyMap<string, string>,
): MachineAnswer {
  const submitPath = machine.parent === null ? (paths.get(machine.name) ?? '/api/entities') : null
  return { ...machine, submitPath, data: schema === null ? null : isZod(schema) ? jsonSchemaOf(schema, 'input') : {} }
}

/** Only Zod can say what it expects; of any other check nothing is known but that there is one. */
function isZod(schema: Schema<unknown>): schema is z.ZodType {
  return '_zod' in schema
}
