import { type Signal, useSignal } from '@preact/signals'
import type { JobView } from '../../../core/job/view.js'
import type { Count } from '../../../store/store.js'
import { actOnAll } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { filterWords } from '../../data/filter.js'
import { count, plural } from '../../data/format.js'
import { range, rangeText } from '../../data/range.js'
import { may } from '../../data/session.js'
import { Button } from '../../parts/button.js'
import { useKeys } from '../../shell/keys.js'
import { query } from '../../shell/router.js'

interface JobsBulkProps {
  readonly selected: Signal<ReadonlySet<string>>
  readonly total: Count
  readonly filter: Readonly<Record<string, string>>
  readonly rows: readonly JobView[]
  readonly after: () => void
}

interface Deed {
  readonly verb: string
  readonly effect: string
  readonly tone?: 'danger'
  readonly call: api.Bulk
  readonly fits: (job: JobView) => boolean
  readonly key: string
}

const isOver = ({ state }: JobView): boolean => state === 'dead' || state === 'cancelled'

const DEEDS: readonly Deed[] = [
  {
    verb: 'Retry',
    key: 'r',
    effect: 'Dead and cancelled jobs start again with all attempts. Other jobs do not change.',
    call: api.jobs.retryAll,
    fits: isOver,
  },
  {
    verb: 'Cancel',
    key: 'C',
    effect: 'Waiting jobs are cancelled at once, running jobs are asked to stop. The records stay.',
    tone: 'danger',
    call: api.jobs.cancelAll,
    fits: ({ state }) => state === 'waiting' || state === 'running',
  },
  {
    verb: 'Delete',
    key: 'D',
    effect: "Removes the records and histories. Running jobs do not change. This can't be undone.",
    tone: 'danger',
    call: api.jobs.deleteAll,
    fits: ({ state }) => state !== 'running',
  },
]

/** The actions for the selected jobs, or for all matching jobs. */
export function JobsBulk({ selected, total, filter, rows, after }: JobsBulkProps) {
  const isAll = useSignal(false)
  const chosen = selected.value
  const clear = (): void => {
    selected.value = new Set()
    isAll.value = false
  }
  const selectAll = (): void => {
    selected.value = new Set(rows.map(({ id }) => id))
    isAll.value = true
  }
  const doDeed = (deed: Deed): void => {
    if (chosen.size === 0) return
    const done = (): void => {
      clear()
      after()
    }
    if (isAll.value) void bulk(deed, filter, wordsOfAll(), done)
    else void bulk(deed, { ids: [...chosen] }, 'selected jobs', done)
  }
  const mayAct = may('operator')
  useKeys(
    mayAct
      ? [
          { keys: 'A', does: 'Select all matching jobs', group: 'Lists', run: selectAll },
          ...DEEDS.map(deed => ({
            keys: deed.key,
            does: `${deed.verb} selected jobs`,
            group: 'Actions' as const,
            run: () => doDeed(deed),
          })),
        ]
      : [],
  )
  if (!mayAct || chosen.size === 0) return null
  const fitting = (deed: Deed): boolean => isAll.value || rows.some(job => chosen.has(job.id) && deed.fits(job))
  return (
    <section class="bulk-bar" aria-label="Selected jobs">
      <span class="strong">{isAll.value ? `All ${count(total)} matching jobs` : `${count(chosen.size)} selected`}</span>
      {!isAll.value && total.value > chosen.size && (
        <Button text={`Select all ${count(total)}`} size="sm" tone="quiet" onPress={selectAll} shortcut="A" />
      )}
      {DEEDS.map(deed => (
        <Button
          text={deed.verb}
          key={deed.verb}
          size="sm"
          tone={deed.tone ?? 'normal'}
          disabled={!fitting(deed) && `No selected job is in a state for this: ${deed.verb.toLowerCase()}`}
          shortcut={deed.key}
          onPress={() => doDeed(deed)}
        />
      ))}
      <Button text="Clear" size="sm" tone="quiet" icon="close" onPress={clear} />
    </section>
  )
}

function wordsOfAll(): string {
  const time = range.value && `${query.value['by'] ?? 'created'}: ${rangeText(range.value)}`
  const words = [filterWords(query.value), time].filter(Boolean).join(' ')
  return words === '' ? 'all jobs' : words
}

function bulk({ verb, effect, tone, call }: Deed, filter: api.Filter, words: string, after: () => void): Promise<void> {
  return actOnAll({
    call,
    filter,
    ask: items => ({
      title: `${verb} ${plural(items, 'job')}?`,
      effect,
      filter: words,
      items,
      verb: `${verb} ${plural(items, 'job')}`,
      ...(tone && { tone }),
    }),
    none: `${verb}: no job matches any more`,
    done: ({ matched, changed }) =>
      changed === matched
        ? `${verb}: done for ${plural(changed, 'job')}`
        : `${verb}: changed ${count(changed)} of ${plural(matched, 'job')}; the others were in another state`,
    after,
  })
}
