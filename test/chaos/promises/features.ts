import { DELIVERIES } from '../../../src/core/webhook/delivery.js'
import type { Ledger } from '../ledger.js'
import type { Verdict } from '../verdict.js'
import type { Joined } from './joined.js'

/** Jobs whose ends are reported to the scenario's webhook endpoint. */
export const REPORTED = ['failing', 'most']
export const OCCURRENCE_MS = 1_000
/** How many missed occurrences are made up for. */
export const CATCH_UP = 100

/** After `job.once` has returned a result, the effect does not happen again and the result stays the same. */
export function checkEffects(ledger: Ledger, isInTail: (id: string) => boolean, verdict: Verdict): void {
  for (const [id, entries] of ledger.effects) {
    if (isInTail(id)) continue
    const kept = entries.filter(({ what }) => what === 'kept')
    const values = new Set(kept.map(({ value }) => value))
    verdict.expect(values.size <= 1, 'an effect is remembered once recorded', () => `${id} returned ${[...values]}`)
    const first = kept[0]
    const again = first && entries.find(entry => entry.what === 'effect' && entry.run > first.run)
    verdict.expect(!again, 'an effect is remembered once recorded', () => `${id}: run ${again?.run} repeated it`)
    if (kept.length > 1) verdict.count('effects remembered', kept.length - 1)
  }
}

/** Occurrences are a second apart, and each has one job. After a clock was set forward, the oldest missed ones are left out. */
export function checkOccurrences(ledger: Ledger, joined: ReadonlyMap<string, Joined>, verdict: Verdict): void {
  const occurrences = [...joined.values()]
    .filter(({ job }) => job.scheduleId !== undefined)
    .map(({ job }) => ({ ...job, time: Date.parse(job.key!.slice(`schedule:${job.scheduleId}:`.length)) }))
    .sort((a, b) => a.time - b.time)
  // After a long gap the newest ones are made up for, all at once.
  const isCaughtUp = (first: number): boolean =>
    occurrences[first]?.createdAt === occurrences[first + CATCH_UP - 1]?.createdAt
  const times = occurrences.map(({ time }) => time)
  verdict.count('occurrences of a schedule', times.length)
  const mayLeaveOut = ledger.faults.some(({ kind }) => kind === 'clock')
  for (const [index, time] of times.entries()) {
    const next = times[index + 1]
    if (next === undefined || next - time === OCCURRENCE_MS) continue
    if (next > time && (mayLeaveOut || isCaughtUp(index + 1))) continue
    const text = `${(next - time) / OCCURRENCE_MS} occurrences after ${new Date(time).toISOString()}`
    verdict.broken('each occurrence of a schedule makes one job', text)
  }
}

/** Each end of a reported job arrives under one message id. */
export function checkMessages(
  ledger: Ledger,
  joined: ReadonlyMap<string, Joined>,
  isInTail: (id: string) => boolean,
  verdict: Verdict,
): void {
  const messages = new Map<string, Set<string>>()
  for (const { message, type, job, generation } of ledger.received) {
    const end = `${job} ${generation} ${type}`
    messages.set(end, (messages.get(end) ?? new Set()).add(message))
  }
  verdict.count('webhook messages received', ledger.received.length)
  for (const { job } of joined.values()) {
    if (!REPORTED.includes(job.name) || isInTail(job.id)) continue
    for (let generation = 1; generation <= job.generation; generation++) {
      const type = generation < job.generation || job.state === 'dead' ? 'job.dead' : `job.${job.state}`
      const ids = messages.get(`${job.id} ${generation} ${type}`)?.size ?? 0
      const text = (): string =>
        `${ids} messages ${type} of ${job.id}, generation ${generation}; ${deliveriesOf(job.id, joined)}`
      verdict.expect(ids === 1, 'each end of a job sends one webhook message', text)
    }
  }
}

/** The deliveries about a job, each with its end and its runs. */
function deliveriesOf(id: string, joined: ReadonlyMap<string, Joined>): string {
  const about = [...joined.values()].filter(
    ({ job }) => job.queue === DELIVERIES && JSON.stringify(job.payload).includes(id),
  )
  const texts = about.map(({ job, rows }) => {
    const end = `${job.state}${job.reason === undefined ? '' : ` (${job.reason})`}`
    return `delivery ${job.id} is ${end} after ${rows.map(({ status }) => status).join(', ')}`
  })
  return texts.length === 0 ? 'it has no delivery' : texts.join('; ')
}

/** A generation above the first needs a redrive that the operator started. */
export function checkRedrives(ledger: Ledger, joined: ReadonlyMap<string, Joined>, verdict: Verdict): void {
  const redrives = ledger.faults.filter(({ kind }) => kind === 'redrive').length
  for (const { job } of joined.values()) {
    const mayRestart = job.generation === 1 || (job.name === 'failing' && job.generation <= 1 + redrives)
    verdict.expect(mayRestart, 'only a redrive starts a job that has ended', () => `${job.id} is in ${job.generation}`)
  }
}
