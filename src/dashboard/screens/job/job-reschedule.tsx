import { useSignal } from '@preact/signals'
import type { JobView } from '../../../core/job/view.js'
import { type Duration, parseDuration } from '../../../core/values/duration.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { Button } from '../../parts/button.js'
import { DurationInput, Field, Input, Segmented } from '../../parts/form/field.js'
import { Dialog } from '../../parts/layer/dialog.js'
import { Time } from '../../parts/time.js'

interface RescheduleJobProps {
  readonly job: JobView
  readonly onClose: () => void
  readonly onDone: () => void
}

/** Changes the time of a waiting job. */
export function RescheduleJob({ job, onClose, onDone }: RescheduleJobProps) {
  const way = useSignal<'delay' | 'at'>('delay')
  const delay = useSignal('5m')
  const at = useSignal('')
  const change = way.value === 'delay' ? { delay: delay.value.trim() as Duration } : { runAt: isoOf(at.value) ?? '' }
  const isReady =
    way.value === 'delay' ? parseDuration(delay.value.trim()) !== undefined : isoOf(at.value) !== undefined
  const save = async (): Promise<void> => {
    const done = await act({ run: () => api.jobs.edit(job.id, change), done: 'Rescheduled the job', after: onDone })
    if (done) onClose()
  }
  return (
    <Dialog
      title="Reschedule"
      size="sm"
      onClose={onClose}
      foot={
        <>
          <Button onPress={onClose}>Cancel</Button>
          <Button tone="primary" disabled={!isReady} onPress={() => void save()}>
            Reschedule
          </Button>
        </>
      }
    >
      <p class="muted">
        It runs <Time at={job.runAt} /> as it is. The count of its attempts stays.
      </p>
      <div class="fields">
        <Segmented
          label="When"
          value={way.value}
          options={[
            { value: 'delay', text: 'After a delay' },
            { value: 'at', text: 'At a time' },
          ]}
          onChange={chosen => (way.value = chosen)}
        />
        {way.value === 'delay' ? (
          <Field label="Delay">
            <DurationInput value={delay} />
          </Field>
        ) : (
          <Field label="Time" hint="Local time">
            <Input type="datetime-local" value={at} />
          </Field>
        )}
      </div>
    </Dialog>
  )
}

function isoOf(local: string): string | undefined {
  const ms = Date.parse(local)
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString()
}
