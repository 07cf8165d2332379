import { readFileSync } from 'node:fs'

/** The package finds itself by its name, from the sources and from what is built. */
export function versionOfPackage(): string {
  return JSON.parse(readFileSync(new URL(import.meta.resolve('sluice/package.json')), 'utf8')).version
}
