import type { ErrorGroupView } from '../../../engine/dead/dead.js'
import type { Count } from '../../../store/store.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { count, plural } from '../../data/format.js'

/** Some of the dead letters. */
export interface DeadChoice {
  readonly filter: api.Filter
  /** Which they are, in words. */
  readonly words: string
  readonly items: number | Count
}

const size = ({ items }: DeadChoice): string => `${count(items)} ${items === 1 ? 'dead letter' : 'dead letters'}`

export async function acknowledgeAll(choice: DeadChoice, after: () => void): Promise<void> {
  await act({
    confirm: {
      title: `Acknowledge ${size(choice)}?`,
      effect: 'They stay where they are, and raise no alert any more.',
      filter: choice.words,
      verb: 'Acknowledge',
    },
    run: () => api.dead.acknowledge(choice.filter),
    done: ({ changed }) => `${plural(changed, 'dead letter')} acknowledged`,
    after,
  })
}

export async function discardAll(choice: DeadChoice, after: () => void): Promise<void> {
  await act({
    confirm: {
      title: `Discard ${size(choice)}?`,
      effect: 'They are given up for good: no redrive takes them any more. Their records stay.',
      filter: choice.words,
      items: choice.items,
      verb: 'Discard',
      tone: 'danger',
    },
    run: () => api.dead.discard(choice.filter),
    done: ({ changed }) => `${plural(changed, 'dead letter')} discarded`,
    after,
  })
}

const SAID = { open: 'Open again', resolved: 'Marked as resolved', ignored: 'Ignored' } as const

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
