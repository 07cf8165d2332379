import { clockTime, durationText } from '../format.ts'
import { Services } from '../services.ts'
import { html, useContext, useEffect, useState, type VNode } from '../view.ts'

const tickMs = 1_000

/** Stands above every page while the server does not answer: since when, and how old the figures are. */
export function SilenceNote(): VNode | null {
  const { clock, contact } = useContext(Services)
  const [, draw] = useState(0)
  useEffect(() => {
    let cancel = () => {}
    const tick = () => {
      cancel()
      draw((count) => count + 1)
      // Only the age changes by itself, and only while there is one.
      if (contact.isSilent) cancel = clock.after(tickMs, tick)
    }
    const stop = contact.listen(tick)
    tick()
    return () => {
      stop()
      cancel()
    }
  }, [contact, clock])
  if (!contact.isSilent) return null
  // The alert does not change: a screen reader says it once. The age beside it would be said every second.
  return html`<div class="silence"><b role="alert">The server has not answered since ${clockTime(contact.heardAt)}.</b>
    <span>What you see is <span class="age">${durationText(Math.floor(contact.ageMs / 1_000) * 1_000)}</span> old and may have changed. This page asks again by itself.</span></div>`
}
