export interface DifferentialOptions {}
export function differential() {}
