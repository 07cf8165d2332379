/**
 * What a state says about its entity, as the machine declares it: it went well, it failed, a person should look, or none
 * of these. Counts, colours, exit statuses and "Needs attention" follow it, never the name of the state.
 */
export const stateOutcomes = ['success', 'failure', 'attention', 'neutral'] as const

export type StateOutcome = (typeof stateOutcomes)[number]

/** A machine, or the part of it that the API tells. */
interface Declaring {
  readonly states: Readonly<Record<string, { readonly outcome?: StateOutcome }>>
}

/** `neutral` for a state that declares none, or that this machine does not have. */
export function outcomeOf(machine: Declaring | null | undefined, state: string): StateOutcome {
  if (!machine || !Object.hasOwn(machine.states, state)) return 'neutral'
  // A server of an older version does not tell outcomes.
  return machine.states[state]?.outcome ?? 'neutral'
}
