import assert from 'node:assert/strict'
import { after } from 'node:test'
import { differential } from '../../src/testing/index.ts'
import { movingStore } from './moving-store.ts'
import { sqlitePlace } from './place.ts'
import { settled } from './settled-store.ts'

const moving = movingStore([sqlitePlace])
const budgetMs = Number(process.env.SLUICE_BUDGET_MS ?? 8_000)
differential('sqlite, and sqlite that is moved again and again', settled, moving.open, { budgetMs })
after(() => assert.ok(moving.moves() >= 4, `It was moved ${moving.moves()} times.`))
