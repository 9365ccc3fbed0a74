import type { Job, StoredError } from '../../core/job/job.js'
import { toTags } from '../columns.js'

/** The name of the jobs whose payload is an HTTP call, with its secrets. */
export const HTTP_JOB = 'http'

// Text search in jobs. Only ASCII letters are matched without regard to case, because every database supports that in
// the same way, independent of its locale.

export function folded(text: string): string {
  return text.replace(/[A-Z]+/g, letters => letters.toLowerCase())
}

/** The text as it appears inside JSON text. */
export function withinJson(text: string): string {
  return folded(JSON.stringify(text).slice(1, -1))
}

/**
 * Whether the text can be part of an id. Shorter texts are not searched for in ids, because they would match too many
 * jobs.
 */
export function mayBeOfId(text: string): boolean {
  return /^[0-9a-f-]{6,36}$/i.test(text)
}

export function errorHas(error: StoredError | undefined, text: string): boolean {
  if (error === undefined) return false
  const wanted = folded(text)
  return [error.name, error.code, error.message].some(part => part !== undefined && folded(part).includes(wanted))
}

/**
 * The part of an HTTP job's payload that contains no secrets: the URL before its query. Viewers search only this, so
 * that a search never tells them more than they see.
 */
function safePart(payload: string): string | undefined {
  const url: unknown = (JSON.parse(payload) as { url?: unknown } | null)?.url
  return typeof url === 'string' ? url.split('?')[0] : undefined
}

export function jobHas(job: Job, text: string, masksSecrets = false): boolean {
  const wanted = folded(text)
  const parts = [
    mayBeOfId(text) ? job.id : undefined,
    job.name,
    job.queue,
    job.key,
    toTags(job.tags) ?? undefined,
    masksSecrets && job.name === HTTP_JOB ? safePart(job.payload) : job.payload,
  ]
  return parts.some(part => part !== undefined && folded(part).includes(wanted)) || errorHas(job.error, text)
}
