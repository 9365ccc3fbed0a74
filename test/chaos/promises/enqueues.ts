import type { Asked, Ledger } from '../ledger.js'
import type { Verdict } from '../verdict.js'
import type { Joined } from './joined.js'

/** Compares what the clients were told with the jobs that exist. */
export function checkEnqueues(
  ledger: Ledger,
  joined: ReadonlyMap<string, Joined>,
  isInTail: (id: string) => boolean,
  verdict: Verdict,
): void {
  for (const asked of ledger.asked.values()) checkAnswers(asked, joined, isInTail, verdict)
  const byCall = new Map<string, string>()
  const byKey = new Map<string, string>()
  for (const { job } of joined.values()) {
    const call = callOf(job.tags)
    if (call === undefined) continue
    const asked = ledger.asked.get(call)
    const isAsked = asked !== undefined && asked.name === job.name && asked.tenantId === job.tenantId
    verdict.expect(isAsked, 'no job exists that no client asked for', () => `${job.id} of call ${call}`)
    verdict.expect(
      !byCall.has(call),
      'a key is one job, per tenant',
      () => `${call} made ${byCall.get(call)}, ${job.id}`,
    )
    byCall.set(call, job.id)
    if (job.key !== undefined) {
      const owner = `${job.tenantId ?? ''} ${job.name} ${job.key}`
      verdict.expect(
        !byKey.has(owner),
        'a key is one job, per tenant',
        () => `${owner}: ${byKey.get(owner)}, ${job.id}`,
      )
      byKey.set(owner, job.id)
    }
    if (asked?.answers.at(-1)?.what === 'refused')
      verdict.broken('a call reported as not done had no effect', `${job.id} of call ${call} exists`)
  }
}

function checkAnswers(
  { call, key, answers }: Asked,
  joined: ReadonlyMap<string, Joined>,
  isInTail: (id: string) => boolean,
  verdict: Verdict,
): void {
  const ids = new Set(answers.flatMap(({ id }) => id ?? []))
  if (answers.some(({ what }) => what === 'unknown')) verdict.count('enqueues with an unknown outcome')
  if (answers.some(({ what }) => what === 'refused')) verdict.count('enqueues refused at first')
  if (answers.length > 1 && answers.at(-1)?.what === 'acknowledged') verdict.count('enqueues repeated with their key')
  verdict.expect(ids.size <= 1, 'a key is one job, per tenant', () => `${key ?? call} was answered ${[...ids]}`)
  for (const id of ids) {
    verdict.count('jobs acknowledged')
    if (!joined.has(id) && isInTail(id)) {
      verdict.count('jobs lost in a tail')
      continue
    }
    verdict.expect(joined.has(id), 'an acknowledged job is never lost', () => `${id} of call ${call}`)
  }
}

function callOf(tags: readonly string[]): string | undefined {
  return tags.find(tag => tag.startsWith('call:'))?.slice('call:'.length)
}
