import { z } from 'zod'
import type { SubmitItem, Submitted } from '../../control.ts'
import { SluiceError } from '../../errors.ts'
import { submittedAnswer } from '../answer-schemas.ts'
import { given, nameText, priorityNumber, timeNumber } from '../asked-schemas.ts'
import { walkName } from '../collections.ts'
import type { Context } from '../context.ts'
import { answer, noParams, noQuery, type Route, route } from '../route.ts'

const itemFields = {
  data: z.unknown(),
  key: nameText.optional(),
  priority: priorityNumber.optional(),
  at: timeNumber.optional(),
  state: nameText.optional(),
}

/** Machines whose entities come by a path of their own. */
export function ownPaths(families: Context['families']): ReadonlyMap<string, string> {
  return new Map([
    ...(families.upload?.machines ?? []).map((name) => [name, '/api/uploads'] as const),
    ...(families.jobs?.machines ?? []).map((name) => [name, '/api/jobs'] as const),
    [walkName, '/api/actions'],
  ])
}

/** Making roots. */
export function submitRoutes({ control, families, collections, limits }: Context): readonly Route[] {
  const made = ownPaths(families)
  /** Data of these says who asked, or names files of others: only their own routes make them. */
  const refuseMade = (machine: string) => {
    const by = made.get(machine)
    if (by === undefined) return
    throw new SluiceError('forbidden', `Entities of ${machine} are made by POST ${by} only.`, { machine })
  }
  const submit = { method: 'POST', tag: 'entities', role: 'submitter', params: noParams, query: noQuery } as const
  return [
    route({
      ...{ ...submit, path: '/api/entities', answer: submittedAnswer, statuses: [201, 200] },
      location: ({ id }) => `/api/entities/${id}`,
      summary: 'A new root. The same key gives the same entity, also in a race.',
      body: z.strictObject({ machine: nameText, version: z.int().min(0).optional(), ...itemFields }),
      handle: async ({ caller, body, idempotencyKey }) => {
        const { machine, version, data, ...rest } = body
        refuseMade(machine)
        const key = rest.key ?? (idempotencyKey === null ? undefined : `idem:${idempotencyKey}`)
        const submitted = await control.submit(machine, await collections.dataFor(caller, machine, data), {
          ...given({ ...rest, key, version }),
          actor: caller.actor,
        })
        await collections.refuseTaken(caller, [submitted])
        return answer(submitted.existing ? 200 : 201, submitted)
      },
    }),
    route({
      ...{ ...submit, path: '/api/entities/batch', statuses: [200] },
      summary: 'Many new roots of one machine. All are checked before the first is stored.',
      body: z.strictObject({
        machine: nameText,
        version: z.int().min(0).optional(),
        items: z.array(z.strictObject(itemFields)).max(limits.itemsMax),
      }),
      answer: z.object({ submitted: z.array(submittedAnswer) }) as z.ZodType<{ submitted: readonly Submitted[] }>,
      handle: async ({ caller, body, idempotencyKey }) => {
        const { machine, version } = body
        refuseMade(machine)
        const items: SubmitItem[] = []
        for (const [index, { data, ...rest }] of body.items.entries()) {
          const key = rest.key ?? (idempotencyKey === null ? undefined : `idem:${idempotencyKey}:${index}`)
          items.push({ ...given({ ...rest, key }), data: await collections.dataFor(caller, machine, data) })
        }
        const options = { actor: caller.actor, ...(version === undefined ? {} : { version }) }
        const submitted = await control.submitMany(machine, items, options)
        await collections.refuseTaken(caller, submitted)
        return { submitted }
      },
    }),
  ]
}
