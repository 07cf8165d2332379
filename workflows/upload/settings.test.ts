import assert from 'node:assert/strict'
import { test } from 'node:test'
import { defaultUploadLimits, uploadLimits } from './settings.ts'

test('what is not given has its default', () => {
  assert.deepEqual(uploadLimits(), defaultUploadLimits)
  assert.deepEqual(uploadLimits({ retriesMax: undefined as never }), defaultUploadLimits)
  assert.deepEqual(uploadLimits({ retriesMax: 0, samplesMax: 0 }), {
    ...defaultUploadLimits,
    retriesMax: 0,
    samplesMax: 0,
  })
})

test('the defaults are those of the requirement', () => {
  assert.equal(defaultUploadLimits.fileBytesMax, 10 * 1024 ** 3)
  assert.equal(defaultUploadLimits.retriesMax, 3)
  assert.equal(defaultUploadLimits.retryWindowMs, 86_400_000)
})

const refused: readonly (readonly [object, RegExp])[] = [
  [{ fileBytesMax: 0 }, /fileBytesMax/],
  [{ fileBytesMax: -1 }, /fileBytesMax/],
  [{ itemBytesMax: 1.5 }, /itemBytesMax/],
  [{ depthMax: 1_001 }, /depthMax/],
  [{ retriesMax: -1 }, /retriesMax/],
  [{ retryWindowMs: 0 }, /retryWindowMs/],
  [{ groupMax: 1_001 }, /groupMax/],
  [{ samplesMax: 21 }, /samplesMax/],
  [{ groupMax: '5' }, /groupMax/],
  [{ nonsense: 1 }, /nonsense/],
  [{ groupMax: 0, depthMax: 0 }, /depthMax.*groupMax/],
]
for (const [given, why] of refused) {
  test(`${JSON.stringify(given)} is refused by name`, () => {
    assert.throws(() => uploadLimits(given), { code: 'invalid', message: why })
  })
}
