import type { Bug } from './bug.ts'
import { chunkedBugs } from './chunked-bugs.ts'
import { engineBugs } from './engine-bugs.ts'
import { followUpBugs } from './follow-up-bugs.ts'
import { groupBugs } from './group-bugs.ts'
import { laneBugs } from './lane-bugs.ts'
import { leaseBugs } from './lease-bugs.ts'
import { ruleBugs } from './rule-bugs.ts'
import { sqliteBugs } from './sqlite-bugs.ts'

export const bugs: readonly Bug[] = [
  ...leaseBugs,
  ...laneBugs,
  ...ruleBugs,
  ...engineBugs,
  ...groupBugs,
  ...followUpBugs,
  ...sqliteBugs,
  ...chunkedBugs,
]
