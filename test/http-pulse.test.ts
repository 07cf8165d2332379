import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Ear } from './http/ear.ts'
import { type House, openHouse } from './http/house.ts'

async function withDashboard(story: (house: House) => Promise<void>): Promise<void> {
  const house = await openHouse({ hasDashboard: true })
  try {
    await story(house)
  } finally {
    await house.close()
  }
}

describe('the pulse of the dashboard', () => {
  test('ends with the token by which it was opened', () =>
    withDashboard(async (house) => {
      const listen = (token: string) => new Ear(`${house.url}/api/pulse`, { authorization: `Bearer ${token}` })
      const kept = listen(await house.token({ name: 'kept', role: 'submitter' }))
      const revoked = listen(await house.token({ name: 'revoked', role: 'submitter' }))
      await Promise.all([kept.message('history'), revoked.message('history')])
      await house.access.revoke('revoked')
      await revoked.until(({ isClosed }) => isClosed)
      await house.control.submit('crate', {})
      await kept.message('beat')
      kept.close()
    }))

  test('tells whoever is limited to a collection that something happened, not how much', () =>
    withDashboard(async (house) => {
      const token = await house.token({ name: 'maps', role: 'submitter', collections: ['maps'] })
      const ear = new Ear(`${house.url}/api/pulse`, { authorization: `Bearer ${token}` })
      const { data } = await ear.message('history')
      assert.deepEqual(data.seconds, [])
      await house.control.submit('crate', {})
      const beat = await ear.message('beat')
      assert.deepEqual([beat.data.births, beat.data.moves, beat.data.edges], [0, 0, {}])
      ear.close()
    }))
})
