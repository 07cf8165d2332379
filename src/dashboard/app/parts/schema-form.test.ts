import assert from 'node:assert/strict'
import { test } from 'node:test'
import { z } from 'zod'
import { type FieldSchema, initialOf, kindOf, typedValue } from './schema-form.ts'

const schema = z.toJSONSchema(
  z.object({
    url: z.url(),
    count: z.int().min(1).default(5),
    share: z.number().optional(),
    mode: z.enum(['all', 'some']),
    dry: z.boolean().default(true),
    names: z.array(z.string()),
    inputs: z.array(z.object({ folder: z.string() })),
  }),
  { io: 'input' },
) as FieldSchema
const field = (name: string): FieldSchema => schema.properties![name]!

test('each field is asked for in its own way; what no form can ask for is JSON', () => {
  const kinds = Object.fromEntries(Object.keys(schema.properties!).map((name) => [name, kindOf(field(name))]))
  assert.deepEqual(kinds, {
    url: 'text',
    count: 'integer',
    share: 'number',
    mode: 'choice',
    dry: 'boolean',
    names: 'lines',
    inputs: 'json',
  })
})

test('what is typed becomes what the schema speaks of', () => {
  assert.equal(typedValue(field('url'), 'https://a.example/'), 'https://a.example/')
  assert.equal(typedValue(field('count'), '7'), 7)
  assert.equal(typedValue(field('count'), 'seven'), 'seven')
  assert.equal(typedValue(field('share'), ''), undefined)
  assert.equal(typedValue(field('mode'), 'some'), 'some')
  assert.equal(typedValue(field('dry'), false), false)
  assert.deepEqual(typedValue(field('names'), 'ada\n\n grace '), ['ada', 'grace'])
  assert.deepEqual(typedValue(field('inputs'), '[{"folder":"x"}]'), [{ folder: 'x' }])
  assert.throws(() => typedValue(field('inputs'), '[{'), SyntaxError)
})

test('a form begins with the defaults', () => {
  assert.equal(initialOf(field('count')), '5')
  assert.equal(initialOf(field('dry')), true)
  assert.equal(initialOf(field('url')), '')
})
