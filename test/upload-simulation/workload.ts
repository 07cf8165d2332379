import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { implement } from '../../src/implementation.ts'
import type { Machine } from '../../src/machine.ts'
import type {
  Invariant,
  Known,
  Model,
  Random,
  Stage,
  Workload,
  WorkloadParts,
} from '../../src/testing/simulation/index.ts'
import { batchCriteria } from '../../workflows/upload/batch-criteria.ts'
import { batchAssigns } from '../../workflows/upload/batch-failure.ts'
import { batchProcessors } from '../../workflows/upload/batch-processors.ts'
import { type BatchData, uploadBatch, uploadItem } from '../../workflows/upload/index.ts'
import { itemCriteria } from '../../workflows/upload/item-criteria.ts'
import { itemAssigns, itemProcessors } from '../../workflows/upload/item-processors.ts'
import { uploadLimits } from '../../workflows/upload/settings.ts'
import { type DrawnFile, drawFile } from './drawn-file.ts'
import { checkAtRest, uploadInvariants } from './invariants.ts'
import { SimulatedDesk } from './simulated-desk.ts'

/** Small groups: a file is extracted in several, with a checkpoint behind each. */
const limits = uploadLimits({ groupMax: 4 })
/** Quick to try again, to give up and to time out: a run is short. Notifications give up by themselves. */
const tuning = {
  policy: (_entity: unknown, processor: string) => ({
    attemptsMax: attemptsOf(processor),
    backoff: { firstMs: 40, factor: 2, maxMs: 300, jitter: 0.5 },
    timeoutMs: 1_500,
  }),
}
const attemptsOf = (processor: string | null | undefined): number =>
  processor === 'UploadBatchNotificationProcessor' ? 25 : 3

/** The catalogue syncs each write: in memory that costs nothing, and what is lost with the power is not simulated here. */
const memoryFolder = '/dev/shm'

export interface UploadWorkloadOptions {
  /** Told of every edge that was taken. */
  readonly taken?: Set<string>
}

/** Uploads of files as chance draws them: the real machines, processors, scanner and catalogue. */
export function uploadWorkload(
  { random, complain }: WorkloadParts,
  { taken = new Set() }: UploadWorkloadOptions = {},
): Workload {
  const folder = mkdtempSync(join(existsSync(memoryFolder) ? memoryFolder : tmpdir(), 'sluice-upload-simulation-'))
  const removeFolder = () => rmSync(folder, { recursive: true, force: true })
  process.once('exit', removeFolder)
  const files = join(folder, 'files')
  mkdirSync(files)
  const drawn = new Map<string, DrawnFile>()
  const fileOf = (sha256: string): DrawnFile => drawn.get(sha256) as DrawnFile
  /** One for each process that lives: that of the life before is closed. */
  const desks = new Map<string, { readonly life: string; readonly desk: SimulatedDesk }>()
  const isTold = random.chance(0.5)
  // On some days the desk hardly answers: then attempts are spent, in every state in which an item can rest.
  const lossRate = random.pick([0.003, 0.003, 0.02, 0.3, 0.8])

  function deskOf(stage: Stage): SimulatedDesk {
    const place = stage.name.split('.')[0] as string
    const known = desks.get(place)
    if (known?.life === stage.name) return known.desk
    known?.desk.clerk.close()
    const desk = new SimulatedDesk(stage, files, join(folder, 'catalogue.db'), lossRate)
    desks.set(place, { life: stage.name, desk })
    return desk
  }

  return {
    name: 'upload',
    machines: [uploadBatch, uploadItem] as readonly Machine[],
    rules: {
      fanOuts: {},
      joins: new Set(['upload_batch complete_batch', 'upload_batch all_items_failed']),
      never: new Set(),
      asked: new Set(['completed', 'partially_completed', 'failed'].map((state) => `upload_batch notify_${state}`)),
      attemptsMax: ({ row }) => (row.request?.edge.startsWith('notify_') ? 25 : 3),
      pools: {},
      shares: [],
    },
    invariants: [...uploadInvariants(fileOf), coverage(taken)],
    submitChance: 1 / 120,
    bustle: 2,
    implementations(stage) {
      const desk = deskOf(stage)
      const notifier = isTold ? { send: () => notify(stage) } : null
      const storedBytes = async (sha256: string) => drawn.get(sha256)?.bytes ?? null
      return [
        implement(uploadBatch, {
          processors: batchProcessors({ desk, notifier, limits, storedBytes }),
          criteria: batchCriteria(limits, isTold),
          assigns: batchAssigns(isTold),
          tuning,
        }),
        implement(uploadItem, {
          processors: itemProcessors(desk),
          criteria: itemCriteria(limits),
          assigns: itemAssigns,
          tuning,
        }),
      ]
    },
    drawWish(random) {
      const file = drawFile(random, drawn.size, files)
      drawn.set(file.sha256, file)
      return { machine: uploadBatch.name, data: file, priority: random.chance(0.2) ? random.between(-2, 2) : 0 }
    },
    async send(control, { data, priority = 0 }, key) {
      const { name, sha256, md5, bytes } = data as DrawnFile
      const [first] = desks.values()
      const batch: BatchData = {
        ...{ fileName: name, uploadedBy: 'somebody', sha256, identity: sha256.slice(0, 26) },
        file: (first as { readonly desk: SimulatedDesk }).desk.clerk.catalogue.fileNumber(sha256),
        received: {
          ...{ fileSize: bytes, md5, contentType: 'application/json', storedBytes: bytes, storedSha256: sha256 },
          at: 0,
        },
      }
      return control.submit(uploadBatch.name, batch, { priority, ...(key === null ? {} : { key }) })
    },
    favourite: worthwhile,
    actionForAll: ({ machine, state }) =>
      machine.name === uploadItem.name && state === 'failed' ? 'retry_processing' : undefined,
    check(model) {
      const [first] = desks.values()
      if (first) checkAtRest(model, fileOf, first.desk.clerk.catalogue, complain)
      for (const { desk } of desks.values()) desk.clerk.close()
      process.off('exit', removeFolder)
      removeFolder()
    },
  }
}

/** A receiver that is away for a moment now and then. */
async function notify({ random, faults }: Stage): Promise<void> {
  if (faults.rates.error > 0 && random.chance(0.1)) throw new Error('connect ECONNREFUSED')
}

/** Mostly what has ended badly: there is more to be done with it. */
function worthwhile(model: Model, random: Random): Known | undefined {
  const wanted = random.weighted({ batch: 3, item: 2, any: 3 })
  const favourites: Known[] = []
  for (const known of model.all) {
    const isRoot = known.machine.name === uploadBatch.name
    const isBad = known.state === 'failed' || known.state === 'partially_completed'
    if (isBad && isRoot === (wanted === 'batch')) favourites.push(known)
  }
  return wanted === 'any' || favourites.length === 0 ? undefined : random.pick(favourites)
}

/** Complains of nothing: what was never taken was never tried. */
function coverage(taken: Set<string>): Invariant {
  return {
    name: 'coverage',
    sentence: 'Every edge of the family is taken by some run.',
    move({ record, known }) {
      for (const { transition, from } of record.hops) taken.add(`${known.machine.name} ${transition} from ${from}`)
      return null
    },
  }
}
