import { Worker as Thread } from 'node:worker_threads'
import type { Heart, HeartRequest } from '../../store.ts'
import { threadHeart } from '../../thread-heart.ts'
import type { HeartPlace } from './heart-place.ts'

// It holds a few rows at a time; without a limit its heap would grow as large as that of a whole process.
const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 }

export function startHeart(place: HeartPlace, time: () => number, request: HeartRequest): Heart {
  const here = import.meta.url
  const program = here.endsWith('.ts') ? new URL('./heart-thread.ts', here) : new URL('./heart-thread.js', here)
  return threadHeart(
    (data) => new Thread(program, { workerData: { ...data, ...place }, resourceLimits }),
    time,
    request,
  )
}
