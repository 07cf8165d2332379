import { queryText } from './route.ts'

/** Addresses of the dashboard's own pages. */
export const listHref = (query: Readonly<Record<string, string | number | boolean | null | undefined>>): string =>
  `/entities${queryText(query)}`

export const entityHref = (id: number): string => `/entities/${id}`

export const machineHref = (name: string, version: number): string => `/machines/${encodeURIComponent(name)}/${version}`
