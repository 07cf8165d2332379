export * from './builders.ts'
export type { DifferentialOptions, Harness, Open, OpenOptions } from './conformance/index.ts'
export { conformance, differential } from './conformance/index.ts'
export * from './kit/index.ts'
