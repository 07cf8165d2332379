/** One worker process: says when it is ready, works from the word go, tells how much it has handled, and ends at the word stop. */
import type { Place } from './contender.ts'
import { type ContenderName, contenders } from './contenders.ts'

export interface Told {
  readonly kind: 'ready' | 'handled' | 'stopped'
  readonly count: number
  /** In milliseconds since 1970, alike in all processes: of the first that was handled, and of this message. */
  readonly first: number
  readonly at: number
}

const [name = '', place = '{}'] = process.argv.slice(2)
const contender = await contenders[name as ContenderName]()
const now = () => performance.timeOrigin + performance.now()

let [count, told, first] = [0, 0, 0]
const tell = (kind: Told['kind']) => {
  told = count
  process.send!({ kind, count, first, at: now() } satisfies Told)
}
const handled = (more: number) => {
  if (count === 0) first = now()
  count += more
}

let stop = async () => {}
process.on('message', async (word) => {
  if (word === 'go') {
    setInterval(() => {
      if (count !== told) tell('handled')
    }, 10)
    stop = await contender.work(JSON.parse(place) as Place, handled)
    return
  }
  await stop()
  tell('stopped')
  process.exit(0)
})
process.on('disconnect', () => process.exit(1))
tell('ready')
