import { base } from './base.ts'
import { drawing } from './drawing.ts'
import { frame } from './frame.ts'
import { parts } from './parts.ts'

/** The one stylesheet. It is a text and no file, so that the compiler carries it into dist/ with everything else. */
export const stylesheet = [base, frame, parts, drawing].join('\n')
