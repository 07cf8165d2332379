import { Problem } from './api.ts'
import { type Live, redrawMs } from './live.ts'
import { Services } from './services.ts'
import { useContext, useEffect, useRef, useState } from './view.ts'

/** What a page has loaded so far. */
export interface Loaded<T> {
  readonly value: T | null
  readonly problem: Problem | null
  readonly reload: () => void
}

/** Loads when `key` changes, and again when something has happened: one request at a time, twice a second at most. */
export function useLoaded<T>(
  key: string,
  load: () => Promise<T>,
  options: { readonly isLive?: boolean } = {},
): Loaded<T> {
  const { isLive = true } = options
  const { live, clock } = useContext(Services)
  const [loaded, setLoaded] = useState<{
    readonly key: string
    readonly value: T | null
    readonly problem: Problem | null
  }>({ key: '', value: null, problem: null })
  const loadNow = useRef(load)
  loadNow.current = load
  const again = useRef(() => {})
  useEffect(() => {
    let isOver = false
    let isBusy = false
    let isWanted = false
    let cancel = () => {}
    const run = async () => {
      isBusy = true
      isWanted = false
      const begun = clock.now()
      let next: { readonly value: T } | { readonly problem: Problem }
      try {
        next = { value: await loadNow.current() }
      } catch (error) {
        next = { problem: error instanceof Problem ? error : new Problem(0, { detail: String(error) }) }
      }
      if (isOver) return
      setLoaded((before) =>
        'value' in next
          ? { key, value: next.value, problem: null }
          : keptWith(before.key === key ? before.value : null, key, next.problem),
      )
      // What takes long is asked for less often: a slow server is not made slower.
      const pauseMs = Math.max(redrawMs, 4 * (clock.now() - begun))
      cancel = clock.after(pauseMs, () => {
        isBusy = false
        if (isWanted) void run()
      })
    }
    const want = () => {
      isWanted = true
      if (!isBusy) void run()
    }
    again.current = want
    const stop = isLive ? live.listen(() => !live.isPaused && want()) : () => {}
    void run()
    return () => {
      isOver = true
      cancel()
      stop()
    }
  }, [key])
  const isCurrent = loaded.key === key
  return {
    value: isCurrent ? loaded.value : null,
    problem: isCurrent ? loaded.problem : null,
    reload: () => again.current(),
  }
}

/** What was loaded stays. That the server does not answer is said above the page; other problems are the page's to show. */
function keptWith<T>(value: T | null, key: string, problem: Problem) {
  return { key, value, problem: value !== null && problem.isNoAnswer ? null : problem }
}

/** Draws again when something has happened, without loading anything. */
export function useBeat(): Live {
  const { live } = useContext(Services)
  const [, draw] = useState(live.told)
  useEffect(() => {
    // What was told between drawing and listening: without this the page would show it only with the next word, if any.
    draw(live.told)
    return live.listen(() => draw(live.told))
  }, [live])
  return live
}
