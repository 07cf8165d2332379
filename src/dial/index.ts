/** The guarded dialer: HTTP for URLs that somebody else wrote. */
export { type Address, type AddressClass, classify, parseAddress, refusedRanges } from './addresses.ts'
export type { Connect, Dialed, Resolve } from './connection.ts'
export { type DialErrorDetail, type DialReason, dialErrorDetail, dialReasons } from './dial-error.ts'
export {
  type Answer,
  type Dialer,
  type DialerSettings,
  type HeadAnswer,
  openDialer,
  type PostAnswer,
} from './dialer.ts'
export { display } from './display.ts'
export { type DialLimits, defaultDialLimits } from './limits.ts'
export { loopbackNetwork } from './loopback.ts'
export type { DialTimes, GetOptions, HeadOptions, PostOptions } from './request.ts'
export type { ResponseHead } from './response-head.ts'
export { type CheckedRules, type DialRules, rulesOf } from './rules.ts'
export { checkUrl } from './target.ts'
