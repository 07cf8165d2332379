// A source that was renamed or removed must not live on in dist/ and be published.
import { rmSync } from 'node:fs'

rmSync(new URL('../dist', import.meta.url), { recursive: true, force: true })
