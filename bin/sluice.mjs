#!/usr/bin/env node
/**
 * Starts the command line. Kept in plain old JavaScript down to the check of the version, so that an old Node can read it.
 *
 * V8 takes its memory flags from the command line only: set later, from inside, they have no effect. So the process replaces itself
 * once, which costs 25 ms. glibc keeps a heap for each thread if it is not told otherwise: MALLOC_ARENA_MAX. None of this limits how much
 * memory the user's code may take, and whatever the user sets, in NODE_OPTIONS or before the script, is left as it is.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { setFlagsFromString } from 'node:v8'

const majorMin = 24
const sourceFlag = '--conditions=sluice-source'

if (Number(process.versions.node.split('.')[0]) < majorMin) {
  console.error(`Sluice needs Node ${majorMin} or newer; this is Node ${process.versions.node}.`)
  process.exit(2)
}

const built = fileURLToPath(new URL('../dist/src/cli/main.js', import.meta.url))
const isSource = process.execArgv.includes(sourceFlag) || !existsSync(built)
const code = isSource ? '../src/cli' : '../dist/src/cli'
const extension = isSource ? 'ts' : 'js'
const { memoryFlags, missingFlags } = await import(`${code}/memory-flags.${extension}`)
const flags = missingFlags(memoryFlags, process.execArgv, process.env.NODE_OPTIONS)
if (isSource && !process.execArgv.includes(sourceFlag)) flags.push(sourceFlag)

if (flags.length > 0) await startAgain([...process.execArgv, ...flags, ...process.argv.slice(1)])
// For this thread our flag has done its work; over the limits that other threads are given it would take precedence.
if (process.execArgv.includes(memoryFlags[0])) setFlagsFromString('--max-semi-space-size=0')
const { main } = await import(`${code}/main.${extension}`)
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
