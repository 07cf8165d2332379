import { z } from 'zod'
import { SluiceError } from '../../errors.ts'
import { type Caller, collectionsMax, roles, type Token, tokenNameRule } from '../access.ts'
import { newTokenAnswer, type SessionAnswer, sessionAnswer, tokenAnswer } from '../answer-schemas.ts'
import { given, nameText, timeNumber } from '../asked-schemas.ts'
import type { Context } from '../context.ts'
import { unauthenticated } from '../door.ts'
import { noParams, noQuery, type Route, rawRoute, route } from '../route.ts'
import { sessionCookie } from '../sessions.ts'

/** Sessions of browsers, and tokens. */
export function accessRoutes({ access, sessions, isLoopback, log }: Context): readonly Route[] {
  const cookie = { path: '/', httpOnly: true, sameSite: 'strict', secure: !isLoopback } as const
  const tokensAnswer = z.object({ tokens: z.array(tokenAnswer) }) as z.ZodType<{ tokens: readonly Token[] }>
  return [
    rawRoute({
      ...{ method: 'POST', path: '/api/session', tag: 'access', role: 'public', unkept: true },
      summary: 'Logs a browser in: gives a session cookie for a token.',
      ...{ params: noParams, query: noQuery, answer: sessionAnswer, statuses: [200] },
      body: z.strictObject({ token: z.string().min(1).max(200) }),
      async serve({ body, requestId }, request, reply) {
        const token = await access.find(body.token)
        if (!token) {
          log.warn({ requestId, address: request.ip }, 'a login with a token that is not valid')
          throw unauthenticated()
        }
        const { id, session } = sessions.create(token.digest, token.expiresAt)
        const { name: actor, role, collections } = token
        log.info({ requestId, actor, role, address: request.ip }, 'logged in')
        reply.setCookie(sessionCookie, id, { ...cookie, expires: new Date(session.expiresAt) })
        const { csrf, expiresAt } = session
        return { kind: 'session', actor, role, collections, csrf, expiresAt }
      },
    }),
    route({
      ...{ method: 'GET', path: '/api/session', tag: 'access', role: 'submitter' },
      summary: 'Who calls, and what unsafe requests of a session must say.',
      ...{ params: noParams, query: noQuery, body: null, answer: sessionAnswer, statuses: [200] },
      handle: async ({ caller }) => shown(caller),
    }),
    rawRoute({
      ...{ method: 'DELETE', path: '/api/session', tag: 'access', role: 'submitter' },
      summary: 'Logs out.',
      ...{ params: noParams, query: noQuery, body: null, answer: null, statuses: [204] },
      async serve(_asked, request, reply) {
        const id = request.cookies[sessionCookie]
        if (id !== undefined) sessions.end(id)
        return reply.clearCookie(sessionCookie, cookie).code(204).send()
      },
    }),
    route({
      ...{ method: 'GET', path: '/api/tokens', tag: 'access', role: 'admin', everywhere: true },
      summary: 'The tokens, without their secrets.',
      ...{ params: noParams, query: noQuery, body: null, answer: tokensAnswer, statuses: [200] },
      handle: async () => ({ tokens: await access.list() }),
    }),
    route({
      ...{ method: 'GET', path: '/api/tokens/:name', tag: 'access', role: 'admin', everywhere: true },
      summary: 'One token, without its secret.',
      params: z.strictObject({ name: nameText }),
      ...{ query: noQuery, body: null, answer: tokenAnswer, statuses: [200] },
      handle: async ({ params }) => {
        const token = (await access.list()).find(({ name }) => name === params.name)
        if (token) return token
        throw new SluiceError('not_found', `There is no token ${params.name}.`, { name: params.name })
      },
    }),
    rawRoute({
      ...{ method: 'POST', path: '/api/tokens', tag: 'access', role: 'admin', everywhere: true, unkept: true },
      summary: 'Makes a token and shows its secret, once. A repeat is refused, as the name is taken.',
      ...{ params: noParams, query: noQuery, answer: newTokenAnswer, statuses: [201] },
      body: z.strictObject({
        name: z.string().regex(tokenNameRule, 'must be 1 to 80 letters, digits, dots, dashes, @ or underscores'),
        role: z.enum(roles),
        collections: z.array(nameText).min(1).max(collectionsMax).nullable().optional(),
        expiresAt: timeNumber.nullable().optional(),
      }),
      async serve({ caller, body, requestId }, request, reply) {
        const { token, secret } = await access.create({
          name: body.name,
          role: body.role,
          ...given({ collections: body.collections, expiresAt: body.expiresAt }),
          createdBy: caller.actor,
        })
        const { name, role, collections } = token
        log.info({ requestId, actor: caller.actor, address: request.ip, name, role, collections }, 'a token was made')
        return reply
          .code(201)
          .header('location', `/api/tokens/${encodeURIComponent(name)}`)
          .send({ ...token, token: secret })
      },
    }),
    route({
      ...{ method: 'DELETE', path: '/api/tokens/:name', tag: 'access', role: 'admin', everywhere: true },
      summary: 'Takes a token back, with all its sessions, within a second.',
      params: z.strictObject({ name: nameText }),
      ...{ query: noQuery, body: null, answer: null, statuses: [204] },
      handle: async ({ caller, params, requestId }) => {
        await access.revoke(params.name)
        log.info({ requestId, actor: caller.actor, name: params.name }, 'a token was revoked')
        return null
      },
    }),
  ]
}

function shown({ actor, role, collections, kind, csrf, expiresAt }: Caller): SessionAnswer {
  return { actor, role, collections, kind, csrf, expiresAt }
}
