import type { Job, StoredError } from '../core/job/job.js'
import { toTags } from './columns.js'

// How jobs are searched for a text. Upper and lower case are the same for the letters of ASCII alone: that is what every
// database can do, whatever its language, and in the same way.

export function folded(text: string): string {
  return text.replace(/[A-Z]+/g, letters => letters.toLowerCase())
}

/** The text as it stands within JSON text. */
export function withinJson(text: string): string {
  return folded(JSON.stringify(text).slice(1, -1))
}

/** Only such a text can be part of an id, and only a longer one is looked for in it: nobody means less. */
export function mayBeOfId(text: string): boolean {
  return /^[0-9a-f-]{6,36}$/i.test(text)
}

export function errorHas(error: StoredError | undefined, text: string): boolean {
  if (error === undefined) return false
  const wanted = folded(text)
  return [error.name, error.code, error.message].some(part => part !== undefined && folded(part).includes(wanted))
}

export function jobHas(job: Job, text: string): boolean {
  const wanted = folded(text)
  const parts = [
    mayBeOfId(text) ? job.id : undefined,
    job.name,
    job.queue,
    job.key,
    toTags(job.tags) ?? undefined,
    job.payload,
  ]
  return parts.some(part => part !== undefined && folded(part).includes(wanted)) || errorHas(job.error, text)
}
