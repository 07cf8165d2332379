import assert from 'node:assert/strict'
import { test } from 'node:test'
import { plainText } from './plain-text.ts'

test('tags separate words, entities are decoded, other signs stay', () => {
  assert.equal(plainText(undefined), '')
  assert.equal(plainText('plain'), 'plain')
  assert.equal(plainText('one<p>two</p>'), 'one two ')
  assert.equal(plainText('I&#x27;m &amp; you&#39;re &quot;&nbsp;&gt;'), "I'm & you're \" >")
  assert.equal(plainText('1 < 2 and 3 > 2 <'), '1 < 2 and 3 > 2 <')
  assert.equal(
    plainText('&unknown; &toolongname; &#0; &#xd800; &#x1F642; &#9999999;'),
    '&unknown; &toolongname;     🙂  ',
  )
  assert.equal(plainText('&AMP;lt;'), '&lt;')
  assert.equal(plainText('never <b closed'), 'never <b closed')
})

test('a text of nothing but openings is read in one pass', () => {
  const openings = '<a'.repeat(500_000)
  assert.equal(plainText(openings), openings)
  const signs = '< '.repeat(200_000)
  assert.equal(plainText(signs), signs)
})
