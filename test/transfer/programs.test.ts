import assert from 'node:assert/strict'
import { after } from 'node:test'
import { differential } from '../../src/testing/index.ts'
import { movingStore } from './moving-store.ts'
import { sqlitePlace } from './place.ts'
import { settled } from './settled-store.ts'

const moving = movingStore([sqlitePlace])
differential('sqlite, and sqlite that is moved again and again', settled, moving.open, { budgetMs: 8_000 })
after(() => assert.ok(moving.moves() > 0, 'It was moved.'))
