import { conditionOf } from './condition.ts'
import {
  criterionDepth,
  documentLimits,
  type GroupCriterion,
  operationOf,
  partsOf,
  type WorkflowCriterion,
} from './document.ts'
import { parseJsonPath } from './json-path.ts'
import type { LintCode, LintWarning } from './lint-warning.ts'
import type { JsonPlace } from './plain-json.ts'

/** Notes one finding at a place below the criterion. */
export type Note = (code: LintCode, severity: LintWarning['severity'], place: JsonPlace, message: string) => void

/** The rules for one criterion tree. */
export function lintCriterion(criterion: WorkflowCriterion, place: JsonPlace, note: Note): void {
  const depth = criterionDepth(criterion)
  const { criterionDepthMax } = documentLimits
  if (depth >= criterionDepthMax) {
    note(
      'criterion-depth-limit',
      'error',
      place,
      `the criterion is ${depth} levels deep; platforms refuse ${criterionDepthMax}`,
    )
  } else if (depth > depthReadable) {
    note(
      'criterion-depth-limit',
      'info',
      place,
      `the criterion is ${depth} levels deep; flatten it to keep it readable`,
    )
  }
  lintNode(criterion, place, note, false)
}

const depthReadable = 5

function lintNode(criterion: WorkflowCriterion, place: JsonPlace, note: Note, isNested: boolean): void {
  switch (criterion.type) {
    case 'function': {
      const { name, criterion: quick } = criterion.function
      if (!quick) {
        const said = `the function ${name} has no quick exit; a criterion inside it would spare calls that cannot hold`
        note('function-without-quick-exit', 'info', place, said)
      }
      if (isNested) {
        const said = `the function ${name} stands inside a group; some engines ask functions at the top only`
        note('function-in-group', 'warning', place, said)
      }
      break
    }
    case 'group':
      lintNot(criterion, place, note)
      break
    case 'simple':
    case 'array':
    case 'lifecycle':
      lintLeaf(criterion, place, note)
      break
    default:
      criterion satisfies never
  }
  for (const [index, part] of partsOf(criterion).entries()) {
    const inner = criterion.type === 'group' ? ['conditions', index] : ['function', 'criterion']
    lintNode(part, [...place, ...inner], note, true)
  }
}

function lintNot({ operator, conditions }: GroupCriterion, place: JsonPlace, note: Note): void {
  if (operator !== 'NOT' || conditions.length === 1) return
  const said = `NOT has ${conditions.length} conditions; put them into one group, so that "not both" and "neither" differ`
  note('not-with-multiple-conditions', 'error', place, said)
}

function lintLeaf(
  criterion: Extract<WorkflowCriterion, { type: 'simple' | 'array' | 'lifecycle' }>,
  place: JsonPlace,
  note: Note,
): void {
  const operation = operationOf(criterion)
  if (criterion.type !== 'lifecycle' && !parseJsonPath(criterion.jsonPath)) {
    const said = `the path ${criterion.jsonPath} is outside the subset $.name.list[0].list[*]`
    note('invalid-jsonpath-subset', 'error', [...place, 'jsonPath'], said)
  } else {
    const condition = conditionOf(criterion, { stateName: (state) => state })
    if ('unsupported' in condition) note('unsupported-criterion', 'warning', place, condition.unsupported)
  }
  if (criterion.type === 'array' && operation !== '' && operation !== 'EQUALS') {
    const said = `${operation} is ignored: a list is compared position by position`
    note('array-operation-ignored', 'warning', [...place, 'operation'], said)
  }
  if (typeof criterion.value !== 'string') return
  if (operation === 'MATCHES_PATTERN' && !/^\^.*\$$/s.test(criterion.value)) {
    const said = `the pattern ${criterion.value} is not anchored, and engines differ in whether the whole text must match; write ^ and $`
    note('matches-pattern-unanchored', 'warning', [...place, 'value'], said)
  }
  if (operation === 'LIKE' && /[%_]/.test(criterion.value)) {
    const said = `in ${criterion.value} the signs % and _ stand for any text and any character; write \\% or \\_ for the sign itself`
    note('like-wildcard-warning', 'info', [...place, 'value'], said)
  }
}
