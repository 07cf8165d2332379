// Plain JavaScript on purpose: an older Node cannot even parse our TypeScript, so this file, preloaded by every npm
// script, is the only place that can tell its user why.
const major = Number(process.versions.node.split('.')[0])
if (major < 24) {
  console.error(
    `Sluice needs Node 24 or newer, this is ${process.version}: run it through npm scripts after \`npm ci\` ` +
      '(which brings Node 24 along), or install a newer Node.',
  )
  process.exit(1)
}
