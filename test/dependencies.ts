/**
 * What may be installed with this package, as functions from the lockfile to complaints: they need no network, and can be tested with invented
 * lockfiles.
 */
export interface LockedPackage {
  readonly version?: string
  readonly resolved?: string
  readonly integrity?: string
  readonly link?: boolean
  readonly dev?: boolean
  readonly license?: string
  readonly hasInstallScript?: boolean
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

export type LockedPackages = Readonly<Record<string, LockedPackage>>

/** Each package is a release of the registry, pinned by its checksum: not a branch, a folder or an address. */
export function sourceComplaints(packages: LockedPackages): readonly string[] {
  return entriesOf(packages).flatMap(([path, locked]) => [
    ...(/^sha512-[\w+/]{86}==$/.test(locked.integrity ?? '') ? [] : [`${path} has no sha512 checksum.`]),
    // A release of the registry is found by name and version; whatever else npm writes down as an address.
    ...(locked.resolved === undefined && !locked.link ? [] : [`${path} comes from ${locked.resolved ?? 'a folder'}.`]),
    ...(/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(locked.version ?? '') ? [] : [`${path} has no exact version.`]),
  ])
}

/** Direct dependencies are pinned: a new release comes with a change that somebody looks at. */
export function rangeComplaints({ '': root = {} }: LockedPackages): readonly string[] {
  const all = { ...root.dependencies, ...root.devDependencies, ...root.optionalDependencies }
  return Object.entries(all).flatMap(([name, range]) =>
    /^\d+\.\d+\.\d+(-[\w.]+)?$/.test(range) ? [] : [`${name} is not pinned: ${range}.`],
  )
}

/** `allowed`: names, as package.json has them under allowScripts. (npm matches a version by an address, which this lockfile leaves out.) */
export function scriptComplaints(packages: LockedPackages, allowed: readonly string[]): readonly string[] {
  const scripted = entriesOf(packages).flatMap(([path, { hasInstallScript }]) =>
    hasInstallScript ? [nameOf(path)] : [],
  )
  return [
    ...scripted.filter((name) => !allowed.includes(name)).map((name) => `${name} has an install script.`),
    ...allowed.filter((name) => !scripted.includes(name)).map((name) => `${name} is allowed a script, and has none.`),
  ]
}

/** Licences that may be passed on with an Apache-2.0 package; a tool that is not passed on may have others. */
const passedOn = ['MIT', 'MIT-0', 'ISC', 'BSD-2-Clause', 'BSD-3-Clause', 'Apache-2.0', 'BlueOak-1.0.0', '0BSD']
const toolsOnly = ['MPL-2.0']

export function licenceComplaints(packages: LockedPackages): readonly string[] {
  return entriesOf(packages).flatMap(([path, { license = 'none', dev }]) => {
    const known = dev ? [...passedOn, ...toolsOnly] : passedOn
    return license.split(' OR ').some((one) => known.includes(one)) ? [] : [`${path} has the licence ${license}.`]
  })
}

function entriesOf(packages: LockedPackages): readonly (readonly [string, LockedPackage])[] {
  return Object.entries(packages).filter(([path]) => path !== '')
}

export function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
}
