import type { Contender } from './contender.ts'

/** Each is loaded where it is used: a worker process of one carries nothing of the others. */
export const contenders = {
  sluice: async () => (await import('./sluice.ts')).sluice,
  graphile_worker: async () => (await import('./graphile.ts')).graphile,
  pg_boss: async () => (await import('./boss.ts')).boss,
  bullmq_redis: async () => (await import('./bull.ts')).bullRedis,
  bullmq_postgres: async () => (await import('./bull.ts')).bullPostgres,
} as const satisfies Record<string, () => Promise<Contender>>
export type ContenderName = keyof typeof contenders
