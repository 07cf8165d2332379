import { type Bug, inUnit } from './bug.ts'

const access = 'test/http-access.test.ts'
const uploads = 'test/http-uploads.test.ts'
const place = 'workflows/chunked/place.ts'
const client = 'src/client/client.test.ts'

/** What the API and its client can do wrong in front of an engine that does everything right. */
export const httpBugs: readonly Bug[] = [
  {
    name: 'submitter-sees-stacks',
    what: 'A submitter reads stack traces of the server, and where its files lie.',
    file: 'src/http/internals.ts',
    find: "mayAct(caller.role, 'operator')",
    replace: "mayAct(caller.role, 'submitter')",
    caughtBy: inUnit(
      'test/http-internals.test.ts',
      'what a submitter sees of failures no route tells a stack or where a file lies',
    ),
  },
  {
    name: 'event-stream-tells-internals',
    what: 'What the routes leave out for a submitter stands in the event stream.',
    file: 'src/http/feed/hub.ts',
    find: 'answerText({ role }, change)',
    replace: 'JSON.stringify(change)',
    caughtBy: inUnit(
      'test/http-internals.test.ts',
      'what a submitter sees of failures nor does the event stream, read from the beginning',
    ),
  },
  {
    name: 'route-without-collections',
    what: 'One route answers a token that is limited to collections about an entity of another one.',
    file: 'src/http/routes/entity-routes.ts',
    find: 'await collections.refuseForeign(caller, params.id)\n        return { lanes:',
    replace: 'return { lanes:',
    caughtBy: inUnit(access, 'a token that is limited to collections sees nothing of others, on memory'),
  },
  {
    name: 'second-authorization-dropped',
    what: 'Of two Authorization headers the first counts, though a proxy may have judged by the second.',
    file: 'src/http/door.ts',
    find: 'raw.rawHeaders.filter(isNamed).length < 2',
    replace: 'raw.rawHeaders.filter(isNamed).length > 0',
    caughtBy: inUnit(access, 'a request with a token that is refused or with two, is refused whichever is valid'),
  },
  {
    name: 'csrf-token-not-compared',
    what: 'A session acts with whatever a page calls its csrf token.',
    file: 'src/http/door.ts',
    find: "if (typeof said !== 'string' || !isSame(said, caller.csrf ?? '')) {",
    replace: "if (typeof said !== 'string') {",
    caughtBy: inUnit(access, 'a browser that was sent by another site may not'),
  },
  {
    name: 'nul-in-a-query',
    what: 'A path or a query with a NUL character reaches the store, which cannot keep it.',
    file: 'src/http/route.ts',
    find: "if (place !== 'body') {",
    replace: "if (place === 'header') {",
    caughtBy: inUnit(
      'test/odd-text.test.ts',
      'on the memory store, text that no store can keep is refused in a path and a query, where only NUL can be written',
    ),
  },
  {
    name: 'too-large-becomes-invalid',
    what: 'A file that is too big for the family is refused as 400, not as 413.',
    file: 'src/http/routes/upload-routes.ts',
    find: 'throw refusalOfSize(error) ?? error',
    replace: 'throw error',
    caughtBy: inUnit(uploads, 'an upload that is too big for the family is refused the same way'),
  },
  {
    name: 'truncated-form-stored',
    what: 'The file of a form that does not come to its end is stored as if the form were whole.',
    file: 'src/http/multipart.ts',
    find: 'const { done } = await iterator.next()',
    replace: 'const { done } = await iterator.next().catch(() => ({ done: true }))',
    caughtBy: inUnit(uploads, 'an upload that gets stuck is ended'),
  },
  {
    name: 'link-out-of-the-roots',
    what: 'Over HTTP a job reads and writes outside of the roots, through a symbolic link below them.',
    file: place,
    find: 'return await isWithin(await realpath(above), boundaries)',
    replace: 'return await isWithin((await lstat(above)) && above, boundaries)',
    caughtBy: inUnit('workflows/chunked/place.test.ts', 'way-out/secret leads out of the folders that are allowed'),
  },
  {
    name: 'file-opened-behind-a-link',
    what: 'A link that is exchanged between a check and the opening of its file leads out of the roots.',
    file: place,
    find: 'if (await isHandleWithin(handle, path, boundaries)) return handle',
    replace: 'if (await isWithin(path, boundaries)) return handle',
    caughtBy: inUnit(
      'workflows/chunked/place.test.ts',
      'a file is opened only where it really lies in the folders that are allowed',
    ),
  },
  {
    name: 'unfair-turns',
    what: 'The token that has waited longest is asked first in every turn: with enough requests it keeps all turns to itself.',
    file: 'src/http/fair-turns.ts',
    find: 'this.#queues.delete(caller)\n      const { kind, begin }',
    replace: 'if (queue.length === 1) this.#queues.delete(caller)\n      const { kind, begin }',
    caughtBy: inUnit(
      'src/http/fair-turns.test.ts',
      'fair turns of several, each is begun in turn, and eight reads are one turn',
    ),
  },
  {
    name: 'replay-for-another-caller',
    what: 'Whoever uses the Idempotency-Key of another caller is given the answer of the other one.',
    file: 'src/http/replay.ts',
    find: 'caller?.actor ?? null',
    replace: 'null',
    caughtBy: inUnit(
      'test/http-idempotency.test.ts',
      'an Idempotency-Key stands for one body, one path and one caller',
    ),
  },
  {
    name: 'removal-repeated',
    what: 'The client repeats a DELETE whose answer was lost, and tells that there was nothing to remove.',
    file: 'src/client/transport.ts',
    find: " && method !== 'DELETE'",
    replace: '',
    caughtBy: inUnit(
      client,
      'when connections break requests are repeated a few times only; one that removes something is not',
    ),
  },
  {
    name: 'new-key-with-every-try',
    what: 'The client repeats a request under another Idempotency-Key: what was done before its answer was lost is done again.',
    file: 'src/client/transport.ts',
    find: 'const init = { method, headers, ...text, signal: limit.signal }',
    replace:
      "const own = method === 'POST' ? { ...headers, 'idempotency-key': this.#key() } : headers\n        const init = { method, headers: own, ...text, signal: limit.signal }",
    caughtBy: inUnit(client, 'when connections break a lost answer does nothing twice'),
  },
]
