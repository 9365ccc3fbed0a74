import { readFileSync } from 'node:fs'

const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')

/** The version of this package. */
export const VERSION: string = (JSON.parse(text) as { version: string }).version
