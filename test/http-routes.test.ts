import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type AskOptions, type House, openHouse, type Said, saidBy, storeKinds } from './http/house.ts'

for (const store of storeKinds) {
  describe(`the API over ${store}`, () => {
    let house: House
    const asked = new Set<string>()

    before(async () => {
      house = await openHouse({ store, hasFamilies: true })
    })
    after(() => house.close())

    /** Asks, and holds the answer against what the route promises. */
    async function ask(method: string, path: string, options?: AskOptions): Promise<Said> {
      const said = await house.ask(method, path, options)
      keep(method, path, said)
      return said
    }

    function keep(method: string, path: string, said: Said): void {
      const plain = path.split('?', 1)[0] as string
      const matching = house.server.routes.filter(
        (route) =>
          route.method === method && new RegExp(`^${route.path.replaceAll(/:[a-zA-Z]+/g, '[^/]+')}$`).test(plain),
      )
      const route = matching.find((one) => one.path === plain) ?? matching[0]
      assert.ok(route, `${method} ${path} is a route`)
      asked.add(`${route.method} ${route.path}`)
      assert.ok(route.statuses.includes(said.status), `${method} ${path}: ${said.status} ${said.text.slice(0, 500)}`)
      assert.equal(said.headers.get('x-content-type-options'), 'nosniff')
      if (route.answer === null) return
      const judged = route.answer.safeParse(said.body)
      assert.ok(judged.success, `${method} ${path} answers as promised: ${judged.error?.message.slice(0, 500)}`)
    }

    async function settled(id: number): Promise<void> {
      assert.ok(await house.control.settled(id, 10_000), `${id} settles`)
    }

    const crate = (collection: string, ...broken: boolean[]) => ({
      machine: 'crate',
      state: 'packed',
      data: { collection, parcels: broken.map((broken) => ({ to: 'x', broken })) },
    })

    test('machines', async () => {
      const { body } = await ask('GET', '/api/machines')
      assert.deepEqual(
        body.machines.map(({ name }: { name: string }) => name).filter((name: string) => /crate|parcel/.test(name)),
        ['crate', 'parcel'],
      )
      const one = await ask('GET', '/api/machines/crate/1')
      assert.equal(one.body.data.properties.parcels.type, 'array')
      assert.equal((await house.ask('GET', '/api/machines/crate/2')).status, 404)
    })

    test('an entity is submitted, looked at from every side, and acted on', async () => {
      const first = await ask('POST', '/api/entities', { body: { ...crate('a', false, true), key: `one-${store}` } })
      assert.deepEqual([first.status, first.body.existing], [201, false])
      const again = await ask('POST', '/api/entities', { body: { ...crate('a', false, true), key: `one-${store}` } })
      assert.deepEqual([again.status, again.body], [200, { id: first.body.id, existing: true }])
      const { id } = first.body
      await settled(id)
      const detail = await ask('GET', `/api/entities/${id}`)
      assert.equal(detail.body.state, 'sent')
      assert.equal(detail.body.createdBy, 'local')
      const found = await ask('GET', `/api/find?text=one-${store}`)
      assert.deepEqual(found.body, { found: [detail.body] })
      const keyed = await ask('GET', `/api/entities?key=one-${store}&state=sent`)
      assert.deepEqual(
        keyed.body.entities.map((entity: { id: number }) => entity.id),
        [id],
      )
      const history = await ask('GET', `/api/entities/${id}/history?limit=1`)
      assert.deepEqual([history.body.events.length, history.body.next], [1, 0])
      const rest = await ask('GET', `/api/entities/${id}/history?after=0`)
      assert.deepEqual(
        rest.body.events.map(({ transition }: { transition: string }) => transition),
        ['open', 'arrive'],
      )
      assert.equal(rest.body.next, null)
      assert.equal((await ask('GET', `/api/entities/${id}/lanes`)).body.lanes[0].counts.lost, 1)
      assert.equal((await ask('GET', `/api/entities/${id}/progress`)).body.percent, 100)
      assert.match((await ask('GET', `/api/entities/${id}/explain`)).body.sentence, /is sent since/)
      const lost = await ask('GET', `/api/entities/${id}/children?state=lost`)
      assert.deepEqual([lost.body.entities.length, lost.body.entities[0].reason], [1, 'broken'])
      const report = await ask('GET', `/api/entities/${id}/report`)
      assert.equal(report.body.progress.reasons.broken, 1)
      const refused = await house.ask('POST', `/api/entities/${id}/actions/burn`, { body: { reason: 'old' } })
      assert.equal(refused.status, 409)
      assert.equal(refused.body.type, 'urn:sluice:problem:confirmation-needed')
      assert.equal(refused.body.warning, 'What is burnt does not come back.')
      assert.equal((await house.control.get(id)).state, 'sent')
      const burnt = await ask('POST', `/api/entities/${id}/actions/burn`, { body: { reason: 'old', confirmed: true } })
      assert.deepEqual(burnt.body, { id, kind: 'done', state: 'burnt' })
      const last = (await house.control.history(id)).at(-1)
      assert.deepEqual([last?.actor, last?.role, last?.reason], ['local', 'admin', 'old'])
      assert.ok(last?.requestId)
    })

    test('a stale look is refused', async () => {
      const { body } = await ask('POST', '/api/entities', { body: { machine: 'crate', data: {} } })
      const said = await house.ask('POST', `/api/entities/${body.id}/actions/pack`, { body: { seq: 7 } })
      assert.deepEqual([said.status, said.body.context.seq], [409, 0])
    })

    test('many are submitted, listed in pages and counted', async () => {
      const items = Array.from({ length: 25 }, (_, index) => ({ data: { collection: 'many', note: index } }))
      const { body } = await ask('POST', '/api/entities/batch', { body: { machine: 'crate', items } })
      assert.equal(body.submitted.length, 25)
      const ids: number[] = []
      for (let after = ''; ; ) {
        const page = await ask('GET', `/api/entities?machine=crate&label=collection&value=many&limit=10${after}`)
        ids.push(...page.body.entities.map(({ id }: { id: number }) => id))
        if (page.body.next === null) break
        after = `&after=${page.body.next}`
      }
      assert.deepEqual(
        ids,
        body.submitted.map(({ id }: { id: number }) => id),
      )
      const newest = await ask(
        'GET',
        '/api/entities?machine=crate&state=draft&newest=true&limit=1&parent=none&settled=false',
      )
      assert.equal(newest.body.entities[0].id, ids.at(-1))
      const totals = await ask('GET', '/api/totals')
      assert.ok(totals.body.lanes.find(({ machine }: { machine: string }) => machine === 'crate').counts.draft >= 25)
      await ask('PUT', `/api/entities/${ids[0]}/priority`, { body: { priority: -5 } })
      assert.equal((await house.control.get(ids[0] as number)).priority, -5)
    })

    test('an act on many is counted, confirmed once, and done', async () => {
      const { body } = await ask('POST', '/api/entities', { body: crate('walked', true, true, true) })
      await settled(body.id)
      const dry = await ask('POST', '/api/actions', {
        body: { filter: { parent: body.id, states: ['lost'] }, action: 'search', reason: 'found a map' },
      })
      assert.deepEqual([dry.status, dry.body.matching, dry.body.exact, dry.body.walk], [200, 3, true, null])
      const confirmed = await ask('POST', '/api/actions', { body: { confirmation: dry.body.confirmation } })
      assert.equal(confirmed.status, 202)
      await settled(confirmed.body.walk)
      const walk = await ask('GET', `/api/actions/${confirmed.body.walk}`)
      assert.equal(walk.body.state, 'completed')
      assert.match(JSON.stringify(walk.body.result), /3/)
      const [first] = (await house.control.list({ parent: body.id, limit: 1 })).entities
      const event = (await house.control.history(first?.id ?? 0)).find(({ transition }) => transition === 'search')
      assert.deepEqual([event?.actor, event?.reason], ['local', 'found a map'])
      const twice = await house.ask('POST', '/api/actions', { body: { confirmation: dry.body.confirmation } })
      assert.equal(twice.status, 409)
    })

    test('holds are set, seen, released and remembered', async () => {
      const scope = { label: { name: 'collection', value: 'held' } }
      const hold = await ask('POST', '/api/holds', { body: { scope, reason: 'a strike' } })
      assert.deepEqual([hold.body.owner, hold.body.by.role], ['local', 'admin'])
      const { body } = await ask('POST', '/api/entities', { body: crate('held') })
      assert.equal((await ask('GET', `/api/entities/${body.id}/explain`)).body.kind, 'held')
      assert.equal((await ask('GET', '/api/holds')).body.holds.length, 1)
      assert.deepEqual((await ask('GET', `/api/holds/${hold.body.id}`)).body, hold.body)
      await ask('DELETE', `/api/holds/${hold.body.id}`, { body: { reason: 'over' } })
      assert.equal((await ask('GET', '/api/holds')).body.holds.length, 0)
      const past = await ask('GET', '/api/holds/past?limit=1')
      assert.deepEqual([past.body.holds[0].ended.by.actor, past.body.holds[0].ended.by.reason], ['local', 'over'])
      assert.equal((await house.ask('DELETE', `/api/holds/${hold.body.id}`)).status, 404)
      await settled(body.id)
    })

    test('operating', async () => {
      assert.equal((await ask('GET', '/api/workers')).body.workers.length, 1)
      assert.deepEqual((await ask('GET', '/api/check?parent=none')).body.drifts, [])
      assert.deepEqual((await ask('POST', '/api/repair', { body: { parents: [null], reason: 'x' } })).body.drifts, [])
      assert.equal((await ask('GET', '/health')).body.status, 'ok')
      assert.equal((await ask('GET', '/ready')).body.status, 'ready')
      assert.equal((await ask('GET', '/api/samples')).body.offered, true)
      await ask('POST', '/api/samples', { body: {} })
      const { text } = await ask('GET', '/metrics')
      assert.match(text, /^sluice_roots\{machine="crate",version="1",state="draft"\} \d+$/m)
      assert.match(text, /^sluice_http_requests_total\{method="GET",route="\/health",status="200"\} 1$/m)
      assert.match(text, /^sluice_oldest_open_seconds\{machine="crate",version="1",state="draft"\} \d/m)
      for (const line of text.trim().split('\n'))
        assert.match(line, /^(# (HELP|TYPE) .+|[a-z_]+(\{.*\})? -?[\d.e+-]+)$/)
    })

    test('a file is uploaded and its items are found', async () => {
      const items = [
        { id: 1, type: 'story', title: 'Sluices', by: 'ann', time: 100, score: 3 },
        { id: 2, type: 'comment', parent: 1, text: 'yes', by: 'bob', time: 101 },
        { id: 3, type: 'nonsense' },
      ]
      const form = new FormData()
      form.set('collection', 'news')
      form.set('file', new Blob([JSON.stringify(items)], { type: 'application/json' }), 'items.json')
      const send = async () => saidBy(await fetch(`${house.url}/api/uploads`, { method: 'POST', body: form }))
      const sent = await send()
      keep('POST', '/api/uploads', sent)
      assert.equal(sent.status, 201)
      await settled(sent.body.id)
      const view = await ask('GET', `/api/uploads/${sent.body.id}`)
      assert.deepEqual([view.body.state, view.body.itemsErrored], ['partially_completed', 1])
      assert.deepEqual((await house.control.get(sent.body.id)).labels.includes('news'), true)
      assert.equal((await ask('GET', `/api/uploads/${sent.body.id}/errors?limit=5`)).body.errors.length, 1)
      const { id: item } = (await ask('GET', `/api/uploads/${sent.body.id}/errors?limit=5`)).body.errors[0]
      assert.equal(
        (await ask('GET', `/api/uploads/items/${item}/content`)).body.fileName,
        (await ask('GET', `/api/uploads/${sent.body.id}`)).body.fileName,
      )
      const found = await ask('GET', '/api/search?author=ann&types=story&types=comment&sortBy=time')
      assert.equal(found.body.found[0].hnId, 1)
      assert.equal((await ask('GET', '/api/search/2/ancestors')).body.found[0].hnId, 1)
      assert.equal((await ask('GET', '/api/search/1/descendants?depthMax=3')).body.found[0].hnId, 2)
      const again = await send()
      assert.deepEqual([again.status, again.body], [200, { id: sent.body.id, existing: true }])
    })

    test('a job is started, as JSON and with attachments', async () => {
      assert.equal((await ask('GET', '/api/jobs/definitions')).body.definitions[0].parameters.type, 'object')
      const job = { definition: 'word-count', parameters: { text: 'a b c' }, collection: 'texts' }
      const { body } = await ask('POST', '/api/jobs', { body: job })
      await settled(body.id)
      const view = await ask('GET', `/api/jobs/${body.id}`)
      assert.deepEqual([view.body.state, view.body.chunks.total], ['completed', 4])
      assert.equal(
        (await ask('GET', `/api/jobs/${body.id}/chunks?step=count&state=completed&limit=2`)).body.chunks.length,
        2,
      )
      assert.deepEqual((await ask('GET', `/api/jobs/${body.id}/warnings`)).body.chunks, [])
      const form = new FormData()
      form.set('job', JSON.stringify(job))
      form.append('files', new Blob(['one']), 'one.txt')
      form.append('files', new Blob(['two']), 'two.txt')
      const sent = await saidBy(await fetch(`${house.url}/api/jobs`, { method: 'POST', body: form }))
      keep('POST', '/api/jobs', sent)
      const attached = await ask('GET', `/api/jobs/${sent.body.id}`)
      assert.deepEqual(
        attached.body.attachments.map(({ name, bytes }: { name: string; bytes: number }) => [name, bytes]),
        [
          ['one.txt', 3],
          ['two.txt', 3],
        ],
      )
      const jobs = await ask('GET', '/api/jobs?definition=word-count&limit=1')
      assert.deepEqual([jobs.body.jobs.length, jobs.body.jobs[0].id], [1, sent.body.id])
      const wrong = await house.ask('POST', '/api/jobs', { body: { ...job, parameters: {} } })
      assert.equal(wrong.status, 400)
      assert.match(wrong.body.detail, /text/)
    })

    test('what families make is not submitted by hand', async () => {
      for (const machine of ['upload_batch', 'upload_item', 'chunked_job', 'chunked_chunk', 'walk']) {
        const said = await house.ask('POST', '/api/entities', { body: { machine, data: {} } })
        assert.deepEqual([machine, said.status], [machine, 403])
        const many = await house.ask('POST', '/api/entities/batch', { body: { machine, items: [{ data: {} }] } })
        assert.deepEqual([machine, many.status], [machine, 403])
      }
    })

    test('access', async () => {
      assert.equal((await ask('GET', '/api/session')).body.kind, 'local')
      assert.deepEqual((await ask('GET', '/api/tokens')).body.tokens, [])
      const made = await ask('POST', '/api/tokens', { body: { name: 'boss', role: 'admin' } })
      assert.match(made.body.token, /^slc_[\w-]{43}$/)
      const { token } = made.body
      assert.equal((await house.ask('GET', '/api/session')).status, 401)
      assert.equal((await ask('GET', '/api/tokens', { token })).body.tokens[0].createdBy, 'local')
      assert.equal((await ask('GET', '/api/tokens/boss', { token })).body.role, 'admin')
      const login = await ask('POST', '/api/session', { body: { token } })
      const cookie = String(login.headers.get('set-cookie')).split(';', 1)[0] as string
      const headers = { cookie, 'x-csrf-token': login.body.csrf }
      assert.equal((await ask('DELETE', '/api/session', { headers })).status, 204)
      assert.equal((await house.ask('GET', '/api/session', { headers })).status, 401)
      await ask('DELETE', '/api/tokens/boss', { token })
      assert.equal((await house.ask('GET', '/api/session')).status, 200)
    })

    test('events', async () => {
      const abort = new AbortController()
      const response = await fetch(`${house.url}/api/events`, { signal: abort.signal })
      assert.equal(response.headers.get('content-type'), 'text/event-stream; charset=utf-8')
      asked.add('GET /api/events')
      abort.abort()
    })

    test('the document names every route, and this test has asked all of them', async () => {
      const { body } = await ask('GET', '/openapi.json')
      const documented = Object.entries<object>(body.paths).flatMap(([path, operations]) =>
        Object.keys(operations).map((method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/g, ':$1')}`),
      )
      const served = house.server.routes.map(({ method, path }) => `${method} ${path}`)
      assert.deepEqual(documented.sort(), served.toSorted())
      assert.deepEqual([...asked].sort(), served.toSorted())
    })

    test('the document is sound', async () => {
      interface Operation {
        readonly operationId: string
        readonly summary: string
        readonly parameters: readonly { readonly name: string; readonly in: string; readonly schema: object }[]
        readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: object }>> }
        readonly responses: Readonly<Record<string, { readonly description: string }>>
      }
      const { body } = await ask('GET', '/openapi.json')
      assert.match(body.openapi, /^3\.1\./)
      const operations = Object.entries<Readonly<Record<string, Operation>>>(body.paths).flatMap(([path, methods]) =>
        Object.entries(methods).map(([method, operation]) => ({ path, method, ...operation })),
      )
      const ids = operations.map(({ operationId }) => operationId)
      assert.equal(new Set(ids).size, ids.length)
      for (const { path, method, summary, parameters, requestBody, responses } of operations) {
        const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
        const declared = parameters.filter((one) => one.in === 'path').map(({ name }) => name)
        assert.deepEqual(declared, named, path)
        assert.ok(summary.length > 5 && responses.default, path)
        for (const { schema, name } of parameters) assert.ok(Object.keys(schema).length > 0, `${path} ${name}`)
        for (const answer of Object.values(responses)) assert.ok(answer.description.length > 0, path)
        if (method === 'get') assert.equal(requestBody, undefined, path)
        for (const { schema } of Object.values(requestBody?.content ?? {}))
          assert.ok(Object.keys(schema).length > 0, path)
      }
      const references = [...JSON.stringify(body).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, at]) => at as string)
      for (const reference of new Set(references)) {
        const found = reference.split('/').reduce((place, name) => place?.[name], body)
        assert.ok(found, reference)
      }
    })
  })
}
