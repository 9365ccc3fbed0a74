import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { canaryOf, redriveOptions } from '../../../core/redrive/redrive.js'
import { about, integer } from '../../../core/values/schema.js'
import { object } from '../../../core/values/shape.js'
import type { DryRun } from '../../../engine/dead/redrives.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { count, duration, percent, plural } from '../../data/format.js'
import { type QueryState, useQuery } from '../../data/query.js'
import { Skeleton } from '../../parts/empty.js'
import { Editor } from '../../parts/form/editor.js'
import { Toggle } from '../../parts/form/field.js'
import { Fields, useDraft } from '../../parts/form/form.js'
import { formOf } from '../../parts/form/typed.js'
import { go, segment } from '../../shell/router.js'
import type { DeadChoice } from './dead-actions.js'
import { RateSlider } from './rate-slider.js'

const { canary: first, stopWhenFailing, force: uncertain } = redriveOptions.fields
/** The stop condition is typed in percent. */
const settings = object({ canary: first, stop: about(integer(0, 100), stopWhenFailing.about) })

/** The settings of a redrive: canary, rate and stop condition. */
export function RedriveDialog({ choice, onClose }: { readonly choice: DeadChoice; readonly onClose: () => void }) {
  const rate = useSignal(20)
  const force = useSignal(false)
  const draft = useDraft({ canary: '', stop: '20' })
  const form = formOf(settings, draft)
  const { canary, stop } = form.body
  const dry = useQuery(`redrive ${JSON.stringify(choice.filter)} ${force.value}`, () =>
    api.redrives.count({ filter: choice.filter, force: force.value }),
  )
  const total = dry.data?.count
  const known = total?.value
  // The fields appear with their values, because a number that is filled in late would mix with what an operator types.
  const isCounted = useSignal(false)
  useEffect(() => {
    if (known === undefined || isCounted.peek()) return
    draft.canary.value = String(canaryOf(known))
    isCounted.value = true
  }, [known])
  // The number of another setting must not be confirmed, nor change under the pointer.
  const isCurrent = isCounted.value && !dry.isLoading && !dry.isStale
  return (
    <Editor
      title="Redrive dead letters"
      verb={isCurrent && total ? `Redrive ${plural(total, 'job')}` : 'Redrive'}
      icon="redrive"
      onClose={onClose}
      isReady={isCurrent && total !== undefined && total.value > 0 && form.isReady}
      why={whyNot(dry, isCurrent)}
      onSave={async () => {
        const made = await act({
          run: () =>
            api.redrives.start({
              filter: choice.filter,
              rate: `${rate.value}/s`,
              canary,
              stopWhenFailing: stop / 100,
              force: force.value,
              atMost: total!.value,
            }),
          done: 'Started redrive',
          after: ({ id }) => go(`/redrives/${segment(id)}`),
        })
        // More may match than were counted.
        if (made === undefined) dry.refetch()
        return made
      }}
    >
      <p class="redrive-what">
        {total === undefined ? <Skeleton lines={1} /> : <span class="strong">{plural(total, 'job')}</span>}{' '}
        <span class="ink-2">{choice.words}</span>
        {dry.data !== undefined && dry.data.skipped > 0 && (
          <span class="muted"> · {count(dry.data.skipped)} left alone (discarded, or of unknown outcome)</span>
        )}
      </p>
      {isCounted.value ? <Fields {...form} fields={['canary', 'stop']} /> : <Skeleton lines={2} />}
      <RateSlider rate={rate} total={total?.value} />
      <Toggle value={force} label={uncertain.about.label} />
      {(force.value || (dry.data?.skipped ?? 0) > 0) && (
        <p class="muted">
          The outcome of a job is unknown if its run ended without an answer: its work may have been done. A redrive may
          do it a second time, so check first, or make sure that doing it twice is harmless.
        </p>
      )}
      {form.isReady && <p class="muted">{wordsOf(rate.value, canary, stop, total?.value)}</p>}
    </Editor>
  )
}

function whyNot({ data, problem }: QueryState<DryRun>, isCurrent: boolean): string | undefined {
  if (problem) return problem.detail
  if (!isCurrent) return 'Counting the jobs…'
  return data?.count.value === 0 ? 'No job can be redriven.' : undefined
}

function wordsOf(rate: number, canary: number, stop: number, total = 0): string {
  const rest = Math.max(0, total - canary)
  const pace = `at up to ${count(rate)} per second`
  const time = `at least ${duration((rest / rate) * 1000)}`
  const order =
    rest === 0
      ? 'All of them run first, as a canary.'
      : canary === 0
        ? `They start ${pace}, which takes ${time}.`
        : `${canary === 1 ? 'One job runs first. If it succeeds' : `${count(canary)} jobs run first. If they succeed`}, the other ${count(rest)} follow ${pace}, which takes ${time}.`
  return `${order} The redrive stops when ${percent(stop / 100)} or more fail again.`
}
