import { useSignal } from '@preact/signals'
import { jobEdit } from '../../../core/job/options.js'
import type { JobView } from '../../../core/job/view.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { Editor } from '../../parts/form/editor.js'
import { Segmented } from '../../parts/form/field.js'
import { TypedField, useDraft } from '../../parts/form/form.js'
import { formOf } from '../../parts/form/typed.js'
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
  const { delay, runAt } = draft
  const isDelay = way.value === 'delay'
  const form = { ...(isDelay ? formOf(jobEdit, { delay }) : formOf(jobEdit, { runAt })), draft }
  return (
    <Editor
      title="Reschedule"
      verb="Reschedule"
      size="sm"
      onClose={onClose}
      isReady={form.isReady}
      onSave={() =>
        act({
          run: () => api.jobs.edit(job.id, form.body),
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
        <TypedField {...form} name={way.value} />
      </div>
    </Editor>
  )
}
