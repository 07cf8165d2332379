import type { Open } from './story.ts'
export async function checkInvariants(_open: Open): Promise<void> {}
