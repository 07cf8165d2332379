#!/usr/bin/env node
/**
 * Starts the command line. Kept in plain old JavaScript down to the check of the version, so that an old Node can read it.
 *
 * V8 takes its limits from the command line only: set later, from inside, they have no effect. So the process replaces itself once, which
 * costs 25 ms. What is alive in a run is about 30 MiB; without limits V8 lets garbage grow to ten times that before it looks, and
 * glibc keeps a heap for each thread: 340 MiB instead of 200 for a file of a million items, and no faster.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'

const majorMin = 24
// A server has many readers at once, and lives long: it may keep more at hand.
const isServer = ['serve', 'worker'].includes(process.argv[2] ?? '')
const memoryFlags = [
  '--max-semi-space-size=16',
  `--max-old-space-size=${isServer ? 512 : 128}`,
  '--v8-pool-size=2',
  // Young objects are few and soon gone. Helpers that wait for a core, while our own threads have them, make it longer, not shorter.
  '--no-parallel-scavenge',
  // Items live for two or three groups, which looks like long to the collector: it then makes them where only a full collection finds them.
  '--no-allocation-site-pretenuring',
]
const sourceFlag = '--conditions=sluice-source'

if (Number(process.versions.node.split('.')[0]) < majorMin) {
  console.error(`Sluice needs Node ${majorMin} or newer; this is Node ${process.versions.node}.`)
  process.exit(2)
}

const built = fileURLToPath(new URL('../dist/src/cli/main.js', import.meta.url))
const isSource = process.execArgv.includes(sourceFlag) || !existsSync(built)
const flags = [...memoryFlags, ...(isSource ? [sourceFlag] : [])].filter((flag) => !process.execArgv.includes(flag))

if (flags.length > 0) await startAgain([...process.execArgv, ...flags, ...process.argv.slice(1)])
// For this thread the flag has done its work; over the limits that other threads are given it would take precedence.
setFlagsFromString('--max-semi-space-size=0')
const { main } = await import(isSource ? '../src/cli/main.ts' : '../dist/src/cli/main.js')
process.exitCode = await main(process.argv.slice(2))

async function startAgain(words) {
  if (process.execve)
    process.execve(process.execPath, [process.execPath, ...words], { MALLOC_ARENA_MAX: '2', ...process.env })
  // Systems that cannot replace a process get a child, which hears Ctrl-C as we do and decides alone.
  const { spawn } = await import('node:child_process')
  for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => {})
  const child = spawn(process.execPath, words, { stdio: 'inherit' })
  child.on('close', (code) => process.exit(code ?? 2))
  await new Promise(() => {})
}
