import type { Job } from '../../../src/core/job/job.js'
import { DELIVERIES } from '../../../src/core/webhook/delivery.js'
import type { End } from '../ledger.js'
import type { EndpointPlan } from '../world/features.js'
import type { World } from '../world/world.js'

interface Delivery {
  readonly job: Job
  readonly endpoint: number
  readonly messageId: string
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

/** Compares the deliveries with the ends of jobs, and with what the receivers saw. */
export function checkDeliveries(world: World, jobs: readonly Job[]): void {
  const { endpoints } = world.plan.features
  const deliveries = jobs.filter(job => job.queue === DELIVERIES).map(job => deliveryOf(world, job))
  for (const [endpoint, plan] of endpoints.entries()) {
    checkEnds(
      world,
      plan,
      jobs,
      deliveries.filter(one => one.endpoint === endpoint),
    )
    if (plan.events.includes('alert.firing'))
      checkAlerts(
        world,
        deliveries.filter(one => one.endpoint === endpoint),
      )
  }
  for (const delivery of deliveries) checkReceived(world, delivery)
}

function deliveryOf(world: World, job: Job): Delivery {
  const { endpointId, messageId, body } = JSON.parse(job.payload) as {
    endpointId: string
    messageId: string
    body: string
  }
  const { type, data } = JSON.parse(body) as Pick<Delivery, 'type' | 'data'>
  const record = world.witness.model.records.get(`webhook ${endpointId}`)
  const { url } = JSON.parse(record!.body) as { url: string }
  return { job, endpoint: world.plan.features.endpoints.findIndex(one => one.url === url), messageId, type, data }
}

/** Every end that the endpoint wants has exactly one delivery, and every delivery has its end. */
function checkEnds(world: World, plan: EndpointPlan, jobs: readonly Job[], deliveries: readonly Delivery[]): void {
  const { ledger, verdict, coverage } = world
  const byId = new Map(jobs.map(job => [job.id, job]))
  const isWanted = ({ id, type }: End): boolean => {
    const job = byId.get(id)
    const isMine = plan.tenantId === undefined || plan.tenantId === job?.tenantId
    return job !== undefined && job.queue !== DELIVERIES && isMine && plan.events.includes(type)
  }
  const wanted = ledger.ends
    .filter(isWanted)
    .map(({ id, generation, run, type }) => `${type} ${id} ${generation}.${run}`)
  const told = deliveries
    .filter(({ type }) => type.startsWith('job.'))
    .map(({ type, data }) => `${type} ${data['jobId']} ${data['generation']}.${data['run']}`)
  coverage.count('end told', told.length)
  const count = (all: readonly string[], one: string): number => all.filter(each => each === one).length
  for (const one of new Set([...wanted, ...told])) {
    const [ends, messages] = [count(wanted, one), count(told, one)]
    const what = (): string => `${plan.url}: ${one} happened ${ends} times and has ${messages} deliveries`
    verdict.expect(ends === messages, 'every end has one delivery per endpoint', what)
  }
}

/** A delivery that succeeded was received and accepted; one that did not is dead. */
function checkReceived({ ledger, verdict, plan }: World, { job, endpoint, messageId, type }: Delivery): void {
  const receipts = ledger.receipts.filter(one => one.messageId === messageId && one.endpoint === endpoint)
  const isAccepted = receipts.some(({ accepted }) => accepted)
  const what = (): string => `${type} ${messageId} to ${plan.features.endpoints[endpoint]?.url} is ${job.state}`
  const isOver = job.state === 'dead' || (job.state === 'succeeded' && isAccepted)
  verdict.expect(isOver, 'a delivery is received, or dead', () => `${what()}, accepted: ${isAccepted}`)
  const { body } = JSON.parse(job.payload) as { body: string }
  const isSame = receipts.every(one => one.body === body)
  verdict.expect(isSame, 'a delivery is received, or dead', () => `${what()}, and its body has changed`)
}

/** For each alert: fired, perhaps repeated, resolved; and again. */
function checkAlerts({ verdict, coverage }: World, deliveries: readonly Delivery[]): void {
  const notices = deliveries.filter(({ type }) => type.startsWith('alert.'))
  const ordered = notices.sort((a, b) => a.job.createdAt - b.job.createdAt || (a.job.id < b.job.id ? -1 : 1))
  const last = new Map<string, string>()
  for (const { data } of ordered) {
    const [id, notice] = [String(data['id']), String(data['notice'])]
    coverage.count('alert told')
    const before = last.get(id) ?? 'resolved'
    const fits = notice === 'firing' ? before === 'resolved' : before !== 'resolved'
    verdict.expect(fits, 'an alert is told once', () => `${id}: ${notice} after ${before}`)
    last.set(id, notice)
  }
}
