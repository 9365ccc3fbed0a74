import { useSignal } from '@preact/signals'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { count, duration, percent, plural } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { Skeleton } from '../../parts/empty.js'
import { Editor } from '../../parts/form/editor.js'
import { Toggle } from '../../parts/form/field.js'
import { Fields, useDraft, wrongOnes } from '../../parts/form/form.js'
import { go, segment } from '../../shell/router.js'
import type { DeadChoice } from './dead-actions.js'
import { RateSlider } from './rate-slider.js'

/** The settings of a redrive: canary, rate and stop condition. */
export function RedriveDialog({ choice, onClose }: { readonly choice: DeadChoice; readonly onClose: () => void }) {
  const rate = useSignal(20)
  const force = useSignal(false)
  const draft = useDraft({ canary: '10', stop: '20' })
  const [canary, stop] = [Number(draft.canary.value), Number(draft.stop.value)]
  const wrong = wrongOnes({
    canary: /^\d{1,4}$/.test(draft.canary.value) ? undefined : 'A whole number up to 9999',
    stop: /^(100|\d{1,2})$/.test(draft.stop.value) ? undefined : '0 to 100',
  })
  const dry = useQuery(`redrive ${JSON.stringify(choice.filter)} ${force.value}`, () =>
    api.redrives.count({ filter: choice.filter, force: force.value }),
  )
  const total = dry.data?.count
  return (
    <Editor
      title="Redrive dead letters"
      verb={total === undefined ? 'Redrive' : `Redrive ${plural(total, 'job')}`}
      icon="redrive"
      onClose={onClose}
      isReady={total !== undefined && total.value > 0 && Object.keys(wrong).length === 0}
      onSave={() =>
        act({
          run: () =>
            api.redrives.start({
              filter: choice.filter,
              rate: `${rate.value}/s`,
              canary,
              stopWhenFailing: stop / 100,
              force: force.value,
            }),
          done: 'Started redrive',
          after: made => go(`/redrives/${segment(made.id)}`),
        })
      }
    >
      <p class="redrive-what">
        {total === undefined ? <Skeleton lines={1} /> : <span class="strong">{count(total)} jobs</span>}{' '}
        <span class="ink-2">{choice.words}</span>
        {dry.data !== undefined && dry.data.skipped > 0 && (
          <span class="muted"> · {count(dry.data.skipped)} left alone (discarded, or of unknown outcome)</span>
        )}
      </p>
      <Fields
        draft={draft}
        wrong={wrong}
        fields={[
          {
            name: 'canary',
            label: 'Canary',
            hint: 'Jobs that run first; the rest waits for their outcome',
            kind: 'number',
            min: 0,
            max: 9999,
          },
          {
            name: 'stop',
            label: 'Stop when failing',
            hint: 'Percentage of jobs that fail again',
            kind: 'number',
            min: 0,
            max: 100,
          },
        ]}
      />
      <RateSlider rate={rate} total={total?.value} />
      <Toggle value={force} label="Include jobs with unknown outcome" />
      <p class="muted">{wordsOf(rate.value, canary, stop, total?.value)}</p>
    </Editor>
  )
}

function wordsOf(rate: number, canary: number, stop: number, total: number | undefined): string {
  const first = canary > 0 ? `${plural(canary, 'job')} run first. If they succeed, the rest` : 'All jobs'
  const time = total === undefined ? '' : `, about ${duration((Math.max(0, total - canary) / rate) * 1000)} in all`
  return `${first} follow at up to ${count(rate)} per second${time}. The redrive stops when ${percent(stop / 100)} or more fail again.`
}
