import type { ErrorGroupView } from '../../../engine/dead/dead.js'
import type { Count } from '../../../store/store.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { count, plural } from '../../data/format.js'

export interface DeadChoice {
  readonly filter: api.Filter
  readonly words: string
  readonly items: number | Count
}

const size = ({ items }: DeadChoice): string => `${count(items)} ${items === 1 ? 'dead letter' : 'dead letters'}`

export async function acknowledgeAll(choice: DeadChoice, after: () => void): Promise<void> {
  await act({
    confirm: {
      title: `Acknowledge ${size(choice)}?`,
      effect: 'They stay in the list and no longer raise an alert.',
      filter: choice.words,
      verb: `Acknowledge ${size(choice)}`,
    },
    run: () => api.dead.acknowledge(choice.filter),
    done: ({ changed }) => `Acknowledged ${plural(changed, 'dead letter')}`,
    after,
  })
}

export async function discardAll(choice: DeadChoice, after: () => void): Promise<void> {
  await act({
    confirm: {
      title: `Discard ${size(choice)}?`,
      effect: 'No redrive can restart them any more. Their records stay. This can’t be undone.',
      filter: choice.words,
      items: choice.items,
      verb: `Discard ${size(choice)}`,
      tone: 'danger',
    },
    run: () => api.dead.discard(choice.filter),
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
