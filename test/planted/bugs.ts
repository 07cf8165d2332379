import type { Bug } from './bug.ts'
import { chunkedBugs } from './chunked-bugs.ts'
import { commandLineBugs } from './command-line-bugs.ts'
import { dialBugs } from './dial-bugs.ts'
import { engineBugs } from './engine-bugs.ts'
import { followUpBugs } from './follow-up-bugs.ts'
import { groupBugs } from './group-bugs.ts'
import { httpBugs } from './http-bugs.ts'
import { laneBugs } from './lane-bugs.ts'
import { leaseBugs } from './lease-bugs.ts'
import { ruleBugs } from './rule-bugs.ts'
import { sqliteBugs } from './sqlite-bugs.ts'
import { uploadBugs } from './upload-bugs.ts'

export const bugs: readonly Bug[] = [
  ...leaseBugs,
  ...laneBugs,
  ...ruleBugs,
  ...engineBugs,
  ...groupBugs,
  ...followUpBugs,
  ...sqliteBugs,
  ...chunkedBugs,
  ...uploadBugs,
  ...httpBugs,
  ...dialBugs,
  ...commandLineBugs,
]
