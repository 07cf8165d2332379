import type { z } from 'zod'
import { tolerance } from './job-data.ts'
import type { JobDefinition, JobHead, Retention } from './job-definition.ts'
import { jsonFaults } from './json-data.ts'
import type { Polling, ReducerDefinition, StepDefinition, StepSettings } from './step.ts'

/** What is wrong with a definition, all of it at once, each as a sentence without its stop. */

const idRule = /^[A-Za-z][A-Za-z0-9_.-]{0,79}$/
const idText = 'a letter, then up to 79 letters, digits, dots, dashes or underscores'
const chunkSizeMax = 10_000

export function headFaults(head: Partial<JobHead<z.ZodType>> | undefined): readonly string[] {
  const { id, version, parameters, tolerance: given, retention, onCompleted, onFailed } = head ?? {}
  return [
    ...unless(isId(id), `id must be ${idText}; it was ${shown(id)}`),
    ...unless(isCount(version), `version must be a whole number from 1 on; it was ${shown(version)}`),
    ...unless(typeof parameters?.safeParse === 'function', 'parameters must be a schema'),
    ...jsonFaults('parameters', parameters),
    ...unless(
      given === undefined || tolerance.safeParse(given).success,
      `tolerance must be { failures: number } or { percent: 0 to 100 }; it was ${shown(given)}`,
    ),
    ...retentionFaults(retention),
    ...[onCompleted, onFailed].flatMap((handler) =>
      unless(handler === undefined || typeof handler === 'function', 'a handler must be a function'),
    ),
  ]
}

function retentionFaults(retention: Retention | undefined): readonly string[] {
  return Object.entries(retention ?? {}).flatMap(([name, value]) => [
    ...unless(['completedMs', 'failedMs', 'cancelledMs'].includes(name), `there is no retention ${name}`),
    ...unless(
      value === undefined || isTime(value),
      `retention ${name} must be milliseconds from 0 on; it was ${shown(value)}`,
    ),
  ])
}

export function stepFaults({ steps }: JobDefinition, step: Partial<StepDefinition>): readonly string[] {
  const { id, chunkSize, output, run } = step
  const name = `step ${shown(id)}`
  const previous = steps.at(-1)
  return [
    ...unless(isId(id), `a step's id must be ${idText}; it was ${shown(id)}`),
    ...unless(!steps.some((other) => other.id === id), `${name} is given twice`),
    ...unless(typeof run === 'function', `${name} has no run function`),
    ...unless(
      output === undefined || output === null || typeof output.safeParse === 'function',
      `output of ${name} must be a schema`,
    ),
    ...jsonFaults(`output of ${name}`, output),
    ...unless(
      previous === undefined || previous.output !== null,
      `step ${previous?.id} declares no output, so ${name} would never get anything`,
    ),
    ...unless(
      chunkSize === undefined || chunkSize === null || (isCount(chunkSize) && chunkSize <= chunkSizeMax),
      `chunkSize of ${name} must be a whole number from 1 to ${chunkSizeMax}; it was ${shown(chunkSize)}`,
    ),
    ...unless(previous !== undefined || !step.gated, `${name} is the first, and so cannot be gated`),
    ...unless(previous !== undefined || !chunkSize, `${name} is the first, and so has no chunkSize`),
    ...settingFaults(name, step),
  ]
}

export function reducerFaults({ steps }: JobDefinition, reducer: Partial<ReducerDefinition>): readonly string[] {
  const { id, initial, consume, report } = reducer
  const name = `reducer ${shown(id)}`
  const previous = steps.at(-1)
  return [
    ...unless(isId(id), `a reducer's id must be ${idText}; it was ${shown(id)}`),
    ...unless(!steps.some((step) => step.id === id), `${name} has the name of a step`),
    ...unless(typeof initial === 'function', `${name} has no initial function`),
    ...unless(typeof consume === 'function', `${name} has no consume function`),
    ...unless(report === undefined || typeof report === 'function', `report of ${name} must be a function`),
    ...unless(
      previous?.output !== null,
      `step ${previous?.id} declares no output, so ${name} would never get anything`,
    ),
    ...settingFaults(name, reducer),
  ]
}

function settingFaults(
  name: string,
  { retry, concurrency, timeoutMs, weight, polling }: StepSettings,
): readonly string[] {
  const { attemptsMax, backoff = {} } = retry ?? {}
  const times = typeof polling === 'object' ? (polling as Polling) : {}
  return [
    ...unless(
      attemptsMax === undefined || isCount(attemptsMax),
      `retry.attemptsMax of ${name} must be a whole number from 1 on; it was ${shown(attemptsMax)}`,
    ),
    ...Object.entries(backoff).flatMap(([key, value]) =>
      unless(
        isTime(value) && (key !== 'jitter' || value <= 1),
        `retry.backoff.${key} of ${name} does not fit: ${shown(value)}`,
      ),
    ),
    ...unless(
      concurrency === undefined || isCount(concurrency),
      `concurrency of ${name} must be a whole number from 1 on; it was ${shown(concurrency)}`,
    ),
    ...unless(
      timeoutMs === undefined || (isTime(timeoutMs) && timeoutMs > 0),
      `timeoutMs of ${name} must be milliseconds above 0; it was ${shown(timeoutMs)}`,
    ),
    ...unless(
      weight === undefined || (typeof weight === 'number' && weight > 0 && weight < 1),
      `weight of ${name} must be between 0 and 1; it was ${shown(weight)}`,
    ),
    ...Object.entries(times).flatMap(([key, value]) =>
      unless(
        value === undefined || isTime(value),
        `polling.${key} of ${name} must be milliseconds from 0 on; it was ${shown(value)}`,
      ),
    ),
  ]
}

export function weightFaults({ steps, reduction }: JobDefinition): readonly string[] {
  const weights = [...steps, ...(reduction ? [reduction] : [])].flatMap(({ weight }) => weight ?? [])
  const sum = weights.reduce((all, weight) => all + weight, 0)
  const without = steps.filter(({ weight }) => weight === undefined).map(({ id }) => id)
  return [
    ...unless(sum <= 1 + 1e-9, `the weights of its steps add up to ${sum}, more than 1`),
    ...unless(
      without.length === 0 || sum < 1 - 1e-9 || sum > 1 + 1e-9,
      `the weights of its steps add up to 1 and leave nothing to ${without.join(', ')}; give every step a weight, or lower ones`,
    ),
  ]
}

function unless(holds: boolean, fault: string): readonly string[] {
  return holds ? [] : [fault]
}

function isId(id: unknown): id is string {
  return typeof id === 'string' && idRule.test(id)
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 1
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 120) : (JSON.stringify(value) ?? String(value)).slice(0, 120)
}
