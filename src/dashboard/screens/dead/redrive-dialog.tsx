import { useSignal } from '@preact/signals'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { count, duration, percent, plural } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { Button } from '../../parts/button.js'
import { Skeleton } from '../../parts/empty.js'
import { Field, Input, Toggle } from '../../parts/form/field.js'
import { Dialog } from '../../parts/layer/dialog.js'
import { go, segment } from '../../shell/router.js'
import type { DeadChoice } from './dead-actions.js'
import { RateSlider } from './rate-slider.js'

interface RedriveDialogProps {
  readonly choice: DeadChoice
  readonly onClose: () => void
}

const STOP_DEFAULT = '20'

/** The settings of a redrive: canary, rate and stop condition. */
export function RedriveDialog({ choice, onClose }: RedriveDialogProps) {
  const rate = useSignal(20)
  const canary = useSignal('10')
  const stop = useSignal(STOP_DEFAULT)
  const force = useSignal(false)
  const isBusy = useSignal(false)
  const canaryProblem = /^\d{1,4}$/.test(canary.value) ? undefined : 'A whole number up to 9999'
  const stopProblem = /^(100|\d{1,2})$/.test(stop.value) ? undefined : '0 to 100'
  const dry = useQuery(`redrive ${JSON.stringify(choice.filter)} ${force.value}`, () =>
    api.redrives.count({ filter: choice.filter, force: force.value }),
  )
  const total = dry.data?.count
  const start = async (): Promise<void> => {
    isBusy.value = true
    const made = await act({
      run: () =>
        api.redrives.start({
          filter: choice.filter,
          rate: `${rate.value}/s`,
          canary: Number(canary.value),
          stopWhenFailing: Number(stop.value) / 100,
          force: force.value,
        }),
      done: 'Started redrive',
    })
    isBusy.value = false
    if (made) go(`/redrives/${segment(made.id)}`)
  }
  const canStart = total !== undefined && total.value > 0 && !canaryProblem && !stopProblem
  return (
    <Dialog
      title="Redrive dead letters"
      onClose={onClose}
      foot={
        <>
          <Button tone="quiet" onPress={onClose}>
            Cancel
          </Button>
          <Button tone="primary" icon="redrive" busy={isBusy.value} disabled={!canStart} onPress={() => void start()}>
            {total === undefined ? 'Redrive' : `Redrive ${plural(total, 'job')}`}
          </Button>
        </>
      }
    >
      <div class="stack loose">
        <p class="redrive-what">
          {total === undefined ? <Skeleton lines={1} /> : <span class="strong">{count(total)} jobs</span>}{' '}
          <span class="ink-2">{choice.words}</span>
          {dry.data !== undefined && dry.data.skipped > 0 && (
            <span class="muted"> · {count(dry.data.skipped)} left alone (discarded, or of unknown outcome)</span>
          )}
        </p>
        <div class="fields">
          <Field label="Canary" hint="Jobs that run first; the rest waits for their outcome" problem={canaryProblem}>
            <Input value={canary} type="number" min={0} max={9999} />
          </Field>
          <Field label="Stop when failing" hint="Percentage of jobs that fail again" problem={stopProblem}>
            <Input value={stop} type="number" min={0} max={100} />
          </Field>
        </div>
        <RateSlider rate={rate} total={total?.value} />
        <Toggle
          on={force.value}
          onChange={on => {
            force.value = on
          }}
          label="Include jobs with unknown outcome"
        />
        <p class="muted">{wordsOf(rate.value, Number(canary.value), Number(stop.value), total?.value)}</p>
      </div>
    </Dialog>
  )
}

function wordsOf(rate: number, canary: number, stop: number, total: number | undefined): string {
  const first = canary > 0 ? `${plural(canary, 'job')} run first. If they succeed, the rest` : 'All jobs'
  const time = total === undefined ? '' : `, about ${duration((Math.max(0, total - canary) / rate) * 1000)} in all`
  return `${first} follow at up to ${count(rate)} per second${time}. The redrive stops when ${percent(stop / 100)} or more fail again.`
}
