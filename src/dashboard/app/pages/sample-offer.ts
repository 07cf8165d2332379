import type { Problem } from '../api.ts'
import { mayDo, Services } from '../services.ts'
import { html, useContext, useEffect, useState, type VNode } from '../view.ts'

/** An empty store says what can be done with it. */
export function SampleOffer(): VNode {
  const { api, session, toast } = useContext(Services)
  const [isOffered, setOffered] = useState(false)
  const [isBusy, setBusy] = useState(false)
  useEffect(() => {
    if (!mayDo(session, 'operator')) return
    api.get<{ readonly offered?: boolean }>('/api/samples').then(
      ({ offered }) => setOffered(offered === true),
      () => {},
    )
  }, [])
  const create = async () => {
    setBusy(true)
    try {
      await api.post('/api/samples', {})
      toast('Samples are on their way.')
      setOffered(false)
    } catch (error) {
      toast((error as Problem).message, 'bad')
    }
    setBusy(false)
  }
  return html`<div class="empty"><p>Nothing has been submitted yet.</p>
    <div class="buttons">
      ${isOffered ? html`<button type="button" class="button main" disabled=${isBusy} onClick=${create}>Create samples</button>` : null}
      <a class="button" href="/submit">Submit something</a>
    </div></div>`
}
