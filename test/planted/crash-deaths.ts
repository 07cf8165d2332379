import type { Catcher } from './bug.ts'

export const fewDeaths = 'a few processes die behind answers of the store'

export const inCrash: Catcher = { layer: 'crash', file: 'test/planted/crash.ts', test: fewDeaths }
