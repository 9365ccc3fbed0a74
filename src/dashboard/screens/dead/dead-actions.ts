import type { ErrorGroupView } from '../../../engine/dead/dead.js'
import { act, actOnAll } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { plural } from '../../data/format.js'

export interface DeadChoice {
  readonly filter: api.Filter
  readonly words: string
}

export function acknowledgeAll({ filter, words }: DeadChoice, after: () => void): Promise<void> {
  return actOnAll({
    call: api.dead.acknowledge,
    filter,
    ask: items => ({
      title: `Acknowledge ${plural(items, 'dead letter')}?`,
      effect: 'They stay in the list and no longer raise an alert.',
      filter: words,
      verb: `Acknowledge ${plural(items, 'dead letter')}`,
    }),
    none: 'Every dead letter was acknowledged before',
    done: ({ changed }) => `Acknowledged ${plural(changed, 'dead letter')}`,
    after,
  })
}

export function discardAll({ filter, words }: DeadChoice, after: () => void): Promise<void> {
  return actOnAll({
    call: api.dead.discard,
    filter,
    ask: items => ({
      title: `Discard ${plural(items, 'dead letter')}?`,
      effect: 'No redrive can restart them any more. Their records stay. This can’t be undone.',
      filter: words,
      items,
      verb: `Discard ${plural(items, 'dead letter')}`,
      tone: 'danger',
    }),
    none: 'No dead letter matches any more',
    done: ({ changed }) => `Discarded ${plural(changed, 'dead letter')}`,
    after,
  })
}

const SAID = { open: 'Reopened the group', resolved: 'Resolved the group', ignored: 'Ignored the group' } as const

export async function setGroupState(
  { fingerprint, tenantId, state }: ErrorGroupView,
  next: 'open' | 'resolved' | 'ignored',
  after: () => void,
): Promise<void> {
  const before = state === 'regressed' ? 'open' : state
  await act({
    run: () => api.dead.setGroup(fingerprint, next, tenantId),
    done: SAID[next],
    undo: () => api.dead.setGroup(fingerprint, before, tenantId),
    after,
  })
}
