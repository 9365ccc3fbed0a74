import { useSignal } from '@preact/signals'
import type { JobView } from '../../../core/job/view.js'
import { type Duration, parseDuration } from '../../../core/values/duration.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { isoOf } from '../../data/format.js'
import { Editor } from '../../parts/form/editor.js'
import { Segmented } from '../../parts/form/field.js'
import { TypedField, useDraft } from '../../parts/form/form.js'
import { Time } from '../../parts/time.js'

interface RescheduleJobProps {
  readonly job: JobView
  readonly onClose: () => void
  readonly onDone: () => void
}

const WAYS = [
  { value: 'delay', text: 'After a delay' },
  { value: 'runAt', text: 'At a time' },
] as const

export function RescheduleJob({ job, onClose, onDone }: RescheduleJobProps) {
  const way = useSignal<'delay' | 'runAt'>('delay')
  const draft = useDraft({ delay: '5m', runAt: '' })
  const [delay, runAt] = [draft.delay.value.trim(), isoOf(draft.runAt.value)]
  const isDelay = way.value === 'delay'
  return (
    <Editor
      title="Reschedule"
      verb="Reschedule"
      size="sm"
      onClose={onClose}
      isReady={isDelay ? parseDuration(delay) !== undefined : runAt !== undefined}
      onSave={() =>
        act({
          run: () => api.jobs.edit(job.id, isDelay ? { delay: delay as Duration } : { runAt: runAt! }),
          done: 'Rescheduled the job',
          after: onDone,
        })
      }
    >
      <p class="muted">
        It runs <Time at={job.runAt} /> as it is. The count of its attempts stays.
      </p>
      <div class="fields">
        <Segmented label="When" value={way} options={WAYS} />
        {isDelay ? (
          <TypedField draft={draft} name="delay" label="Delay" kind="duration" />
        ) : (
          <TypedField draft={draft} name="runAt" label="Time" hint="Local time" kind="time" />
        )}
      </div>
    </Editor>
  )
}
