import { existsSync } from 'node:fs'
import { type Browser, chromium } from 'playwright-core'

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Where the browser is; null: there is none. */
export const executable: string | null =
  process.env.SLUICE_CHROMIUM ?? places.find((place) => existsSync(place)) ?? null

/** False: the tests run. Otherwise the line that says why not, and what to do. */
export const skip: string | false =
  executable === null
    ? 'Chromium is not installed: `npm run services` installs it, or name it in SLUICE_CHROMIUM.'
    : false

export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: executable!,
    // Containers often run tests as root and have little shared memory.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--force-color-profile=srgb'],
  })
}
