import type { Job } from '../../../src/core/job/job.js'
import type { SchedulePlan } from '../world/features.js'
import type { World } from '../world/world.js'
import type { ScheduleDecision } from './observer.js'

/** An occurrence that stayed undecided for this long is missed, as the documentation says. */
const MISSED_AFTER_MS = 15_000
/** How much too early a process may be that estimates the time of the store, which it gets in whole milliseconds. */
const EARLY_MS = 1
/** How far the time of a process may be off that decides. */
const OFF_MS = 1_500

/** Each occurrence makes at most one job; which of them make none follows from the times of the decisions. */
export function checkSchedules(world: World, jobs: readonly Job[]): void {
  for (const plan of world.plan.features.schedules) checkSchedule(world, plan, jobs)
}

function checkSchedule(world: World, plan: SchedulePlan, jobs: readonly Job[]): void {
  const { verdict, observer } = world
  const { id } = plan
  const own = jobs.filter(job => job.scheduleId === id)
  const made = own.map(tickOf)
  const ticks = ticksOf(world, plan)
  for (const [index, tick] of made.entries()) {
    const what = (): string => `${id}: ${new Date(tick).toISOString()} made ${own[index]!.id}`
    verdict.expect(ticks.includes(tick), 'each occurrence makes one job', () => `${what()}, and is no occurrence`)
    verdict.expect(made.indexOf(tick) === index, 'each occurrence makes one job', () => `${what()} as the second job`)
    const { tenantId, createdAt } = own[index]!
    const earlyMs = tick - createdAt
    verdict.expect(earlyMs <= EARLY_MS, 'no occurrence comes before its time', () => `${what()} ${earlyMs} ms early`)
    verdict.expect(tenantId === plan.tenantId, 'each occurrence makes one job', () => `${what()} for ${tenantId}`)
  }
  const decisions = observer.decisions.get(id) ?? []
  const slackMs = OFF_MS + 4 * world.plan.swarm.latencyMs
  for (const tick of ticks) {
    if (made.includes(tick)) continue
    const decision = decisions.find(({ from, until }) => from < tick && tick <= until)
    const isRight = decision && mayBeLeftOut(plan, ticks, tick, decision, slackMs)
    const what = (): string => `${id}: ${new Date(tick).toISOString()} made no job: ${JSON.stringify(decision)}`
    verdict.expect(isRight === true, 'no occurrence is missed beyond its rule', what)
  }
}

/** Independent of the product: from the documented rules. */
function mayBeLeftOut(
  { overlap, missed }: SchedulePlan,
  ticks: readonly number[],
  tick: number,
  { at, from, until }: ScheduleDecision,
  slackMs: number,
): boolean {
  if (overlap !== 'allow') return true
  const first = ticks.find(one => one > from)!
  const isLate = (one: number): boolean => at - one > MISSED_AFTER_MS - slackMs
  if (!isLate(first)) return false
  if (missed === 'skip') return isLate(tick)
  const newest = ticks.filter(one => one > from && one <= until)
  return !newest.slice(missed === 'run-once' ? -1 : -missed.all).includes(tick)
}

const tickOf = ({ key }: Job): number => Date.parse(key!.split(':').slice(2).join(':'))

function ticksOf(world: World, { id, everyMs, startMs, endMs }: SchedulePlan): number[] {
  const first = world.startAt + startMs
  const ticks: number[] = []
  // It may take a while to create the schedule.
  const createdAt = [...world.observer.schedules()].find(schedule => schedule.id === id)!.createdAt
  for (let tick = first; tick <= world.startAt + endMs; tick += everyMs) if (tick > createdAt) ticks.push(tick)
  return ticks
}
