import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { badStories } from './bad-stories.ts'
import { check } from './checker.ts'
import { expectations, goodStory } from './good-story.ts'
import { notesOf } from './journal.ts'

describe('the checker', () => {
  test('has nothing to say of a history that is as it should be', () => {
    assert.deepEqual(check(goodStory(), expectations), [])
  })

  for (const [name, spoil, complaint] of badStories) {
    test(`complains when ${name}`, () => {
      const draft = goodStory()
      spoil(draft)
      const complaints = check(draft, expectations)
      assert.ok(
        complaints.some((said) => complaint.test(said)),
        `${complaint} is not in:\n${complaints.join('\n')}`,
      )
    })
  }

  test('reads a journal whose last line was torn', () => {
    const whole = '{"kind":"kill","point":"effect:after"}\n'
    assert.deepEqual(notesOf(`${whole}{"kind":"eff`), notesOf(whole))
    assert.equal(notesOf(whole).length, 1)
  })
})
