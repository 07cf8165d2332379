/**
 * The first import of the package: an older Node is told what is missing before a module fails that it does not have. Checked at import, as
 * npm only warns of `engines`.
 */
const majorMin = 24
const { node } = process.versions

if (Number.parseInt(node, 10) < majorMin) {
  throw new Error(`Sluice needs Node ${majorMin} or newer; this is Node ${node}.`)
}

export {}
