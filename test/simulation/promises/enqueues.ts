import type { Job } from '../../../src/core/job/job.js'
import type { Invocation } from '../ledger.js'
import { payloadOf } from '../world/rolling.js'
import type { World } from '../world/world.js'

/** Compares the clients' records with the rows. */
export function checkEnqueues(world: World, jobs: readonly Job[]): void {
  const byId = new Map(jobs.map(job => [job.id, job]))
  checkAcknowledged(world, byId)
  for (const job of jobs) if (job.scheduleId === undefined) checkOrigin(world, job)
  const keys = new Set(world.ledger.invocations.flatMap(({ key }) => key ?? []))
  for (const key of keys) checkKey(world, key, jobs)
}

function checkAcknowledged({ ledger, verdict }: World, byId: ReadonlyMap<string, Job>): void {
  for (const { answer, call, ref } of ledger.invocations) {
    if (answer?.kind !== 'ok') continue
    const job = byId.get(answer.id)
    const who = `call ${call} (#${ref}) was answered ${answer.status} ${answer.id}`
    if (!job) verdict.broken('an acknowledged job is never lost', who)
    else if (answer.status === 'created' && job.tags[0] !== `call-${call}`)
      verdict.broken('an acknowledged job is never lost', `${who}, which ${job.tags[0]} made`)
  }
}

function checkOrigin({ ledger, verdict }: World, job: Job): void {
  const { ref, otherwise = false } = payloadOf(job.payload)
  const call = Number(job.tags[0]?.slice('call-'.length))
  const maker = ledger.invocations[call]
  const what = `job ${job.id} of call ${call} (#${ref})`
  const answer = maker?.answer
  if (!maker || maker.ref !== ref || maker.otherwise !== otherwise) {
    verdict.broken('no job exists that no client enqueued', what)
  } else if (answer?.kind === 'undone') {
    verdict.broken('a call reported as not done had no effect', `${what} exists`)
  } else if (answer && 'id' in answer && answer.id !== job.id) {
    verdict.broken('no job exists that no client enqueued', `${what}, which was answered ${answer.kind} ${answer.id}`)
  }
}

function checkKey({ ledger, verdict }: World, key: string, jobs: readonly Job[]): void {
  const owners = jobs.filter(job => job.key === key)
  if (owners.length > 1) verdict.broken('a key is one job', `${key} has ${owners.map(job => job.id)}`)
  const owner = owners[0]
  const isOtherwise = owner && (payloadOf(owner.payload).otherwise ?? false)
  const fits = ({ answer, otherwise }: Invocation): boolean => {
    if (answer?.kind === 'ok') return answer.id === owner?.id && otherwise === isOtherwise
    if (answer?.kind === 'conflict') return answer.id === owner?.id && otherwise !== isOtherwise
    return true
  }
  const wrong = ledger.invocations.filter(one => one.key === key && !fits(one))
  for (const { call, answer } of wrong) {
    verdict.broken('a key is one job', `${key} is ${owner?.id}; call ${call} was told ${JSON.stringify(answer)}`)
  }
}
