import { present } from '../../../core/values/present.js'
import type { ScheduleView } from '../../../engine/schedules/view.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { asCurl, asLiteral, copyText } from '../../data/copy.js'
import { plural } from '../../data/format.js'
import { may } from '../../data/session.js'
import type { Action } from '../../parts/layer/actions.js'
import { href, pageOf, segment } from '../../shell/router.js'

type Named = Pick<ScheduleView, 'id'>

function runSchedule({ id }: Named, after: () => void): Promise<unknown> {
  return act({
    run: () => api.schedules.run(id),
    done: ({ id: jobId }) => ({
      text: `Started one run of ${id}`,
      tone: 'ok',
      link: { href: pageOf('jobs', jobId), text: 'Open job' },
    }),
    after,
  })
}

/** Needs no confirmation, because it can be undone. */
export function turnSchedules(ids: readonly string[], to: 'pause' | 'resume', after: () => void): Promise<unknown> {
  const names = ids.length === 1 ? ids[0]! : plural(ids.length, 'schedule')
  const back = to === 'pause' ? 'resume' : 'pause'
  return act({
    run: () => Promise.all(ids.map(api.schedules[to])),
    done: to === 'pause' ? `Paused ${names}; existing jobs continue` : `Resumed ${names} from the next occurrence`,
    undo: () => Promise.all(ids.map(api.schedules[back])),
    after,
  })
}

function deleteSchedule({ id, fired }: Pick<ScheduleView, 'id' | 'fired'>, after: () => void): Promise<unknown> {
  return act({
    confirm: {
      title: `Delete schedule ${id}?`,
      effect: `The schedule creates no more jobs, and its counts are removed. Its ${plural(fired, 'existing job')} ${fired === 1 ? 'stays' : 'stay'}. This can’t be undone.`,
      verb: 'Delete schedule',
      tone: 'danger',
    },
    run: () => api.schedules.delete(id),
    done: `Deleted schedule ${id}`,
    after,
  })
}

function cancelSchedule({ id }: Pick<ScheduleView, 'id'>, after: () => void): Promise<unknown> {
  return act({
    confirm: {
      title: `Cancel schedule ${id}?`,
      effect: 'It creates no more jobs, and its jobs that wait or run are cancelled. Resume continues it.',
      verb: 'Cancel schedule',
      tone: 'danger',
    },
    run: () => api.jobs.cancel(id),
    done: `Cancelled schedule ${id}`,
    after,
  })
}

/** The actions for a schedule. `deleted` is called when it is gone. */
export function scheduleActions(
  schedule: ScheduleView,
  after: () => void,
  deleted = after,
): readonly (Action | false)[] {
  const { id, state, recurring, fired } = schedule
  const mayChange = may('operator')
  const isActive = state === 'active'
  const mayGoOn = state !== 'ended' || recurring || fired === 0
  return [
    mayChange && {
      text: 'Run now',
      icon: 'play',
      hint: 'Creates one job immediately',
      shortcut: 'n',
      as: 'button',
      onPress: () => void runSchedule(schedule, after),
    },
    mayChange &&
      mayGoOn && {
        text: isActive ? 'Pause' : 'Resume',
        icon: isActive ? 'pause' : 'play',
        shortcut: 'P',
        as: 'button',
        onPress: () => void turnSchedules([id], isActive ? 'pause' : 'resume', after),
      },
    mayChange && { text: 'Edit', icon: 'edit', as: 'button', href: href(`/schedules/${segment(id)}/edit`) },
    mayChange && { text: 'Duplicate', icon: 'replay', href: href('/schedules/new', { from: id }) },
    { text: 'Show jobs', icon: 'jobs', href: href('/jobs', { schedule: id }) },
    {
      text: 'Copy as curl',
      icon: 'copy',
      onPress: () => void copyText(asCurl('PUT', `/schedules/${segment(id)}`, saidBy(schedule)), 'Copied as curl'),
    },
    {
      text: 'Copy as TypeScript',
      icon: 'copy',
      onPress: () =>
        void copyText(
          `await chronos.schedules.put(${asLiteral(id)}, ${asLiteral(saidBy(schedule))})`,
          'Copied as TypeScript',
        ),
    },
    mayChange &&
      state !== 'ended' && {
        text: 'Cancel',
        icon: 'cancel',
        hint: 'Ends it and stops its jobs',
        tone: 'danger',
        onPress: () => void cancelSchedule(schedule, after),
      },
    mayChange && {
      text: 'Delete',
      icon: 'trash',
      tone: 'danger',
      onPress: () => void deleteSchedule(schedule, deleted),
    },
  ]
}

/** The configuration as an API body, without default values. */
export function saidBy(schedule: ScheduleView): Readonly<Record<string, unknown>> {
  const { cron, every, timeZone, startAt, endAt, splay, overlap, missed, recurring } = schedule
  const { job, payload, queue, priority, delivery, tags, tenantId, timeout, retry, webhook, fingerprint } = schedule
  const dependsOn = schedule.dependsOn === originOf(payload) ? undefined : schedule.dependsOn
  return present({
    cron,
    every,
    timeZone: timeZone === 'UTC' ? undefined : timeZone,
    startAt,
    endAt,
    splay,
    ...(job === 'http' ? { http: payload } : { job, payload: payload ?? undefined }),
    queue,
    priority: priority === 5 ? undefined : priority,
    retry,
    timeout,
    delivery: delivery === 'at-least-once' ? undefined : delivery,
    tags: tags.length === 0 ? undefined : tags,
    tenantId,
    webhook,
    fingerprint,
    dependsOn,
    overlap: overlap === 'skip' ? undefined : overlap,
    missed: missed === 'run-once' ? undefined : missed,
    recurring: recurring ? undefined : false,
  })
}

/** The default dependency of an HTTP job is the origin of its URL. */
function originOf(payload: unknown): string | undefined {
  const { url } = (payload ?? {}) as { readonly url?: unknown }
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).origin : undefined
}
