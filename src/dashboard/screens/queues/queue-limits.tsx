import { useSignal } from '@preact/signals'
import { limitWords } from '../../../core/partition/words.js'
import { present } from '../../../core/values/present.js'
import type { QueueReport } from '../../../engine/jobs/queue-report.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { may } from '../../data/session.js'
import { Button } from '../../parts/button.js'
import { type Fact, Facts, Panel } from '../../parts/panel.js'
import { Countdown } from '../../parts/time.js'
import { LimitsEditor } from './limits-editor.js'
import { eachPartitionWords, type Limits, queueLimitWords } from './limits-form.js'
import { InUse } from './queue-partitions.js'

const GUIDE = 'https://github.com/chronos-jobs/chronos/blob/main/docs/limits.md'

interface QueueProps {
  readonly queue: QueueReport
  readonly after: () => void
}

/** Explains limits on the page of a queue that has none. */
export function NoLimits({ queue, after }: QueueProps) {
  return (
    <Panel title="Limits" actions={may('admin') && <EditButton text="Set limits" queue={queue} after={after} />}>
      <p class="muted">
        No limits: its jobs start as soon as a worker has a free slot. Limits bound how many run at once and how many
        start per second, in the queue and in each partition of it, such as a tenant. <Guide />
      </p>
    </Panel>
  )
}

const Guide = () => (
  <a class="link" href={GUIDE} target="_blank" rel="noreferrer">
    Guide to limits
  </a>
)

function EditButton({ text, queue, after }: QueueProps & { readonly text: string }) {
  const isOpen = useSignal(false)
  return (
    <>
      <Button text={text} size="sm" icon="edit" onPress={() => (isOpen.value = true)} />
      {isOpen.value && <LimitsEditor queue={queue} after={after} onClose={() => (isOpen.value = false)} />}
    </>
  )
}

/** The limit of the whole queue, what each partition gets, and who has set them. */
export function QueueLimitsPanel({ queue, limits, after }: QueueProps & { readonly limits: Limits }) {
  const { from, partitions, code } = limits
  const isReset = from === 'operator' && code !== undefined
  return (
    <Panel
      title="Limits"
      note={from === 'code' ? 'declared in the code' : 'set by an operator'}
      actions={
        may('admin') && (
          <>
            <Button
              text={isReset ? 'Reset to the code' : 'Remove limits'}
              size="sm"
              tone="quiet"
              icon="close"
              onPress={() => void reset(queue.name, limits, after)}
            />
            <EditButton text="Change limits" queue={queue} after={after} />
          </>
        )
      }
    >
      <div class="stack tight">
        <Facts
          columns={2}
          facts={[
            ...ownFacts(queue, limits),
            ['Each partition', partitions ? eachPartitionWords(partitions) : 'no limit'],
            ['In the code', isReset && codeWords(code)],
          ]}
        />
        <p class="muted">
          <Guide />
        </p>
      </div>
    </Panel>
  )
}

const codeWords = (code: NonNullable<Limits['code']>): string =>
  `queue: ${queueLimitWords(code.limit)}; each partition: ${eachPartitionWords(code.partitions)}`

/** The limit of the queue as a whole: in use, rates, and when the next job may start. */
function ownFacts({ running, openAt }: QueueReport, { limit = {} }: Limits): readonly Fact[] {
  const { concurrency, rate, burst, units } = limit
  const isFull = concurrency !== undefined && running >= concurrency
  const isPaced = rate !== undefined || units !== undefined
  return [
    ['Running', <InUse running={running} concurrency={concurrency} />],
    ['Rate', isPaced && limitWords(present({ rate, burst, units }))],
    [
      'Next start',
      (isFull || isPaced) &&
        (isFull ? 'when a running job ends' : openAt === undefined ? 'now' : <Countdown at={Date.parse(openAt)} />),
    ],
  ]
}

/** What the code says applies again, or no limit at all. */
function reset(name: string, { from, code }: Limits, after: () => void): Promise<unknown> {
  const confirm =
    from === 'operator' && code
      ? {
          title: `Reset the limits of ${name} to those of the code?`,
          effect: `The limits of the code apply again: ${codeWords(code)}.`,
          verb: 'Reset limits',
        }
      : {
          title: `Remove the limits of ${name}?`,
          effect: `Its jobs start as soon as a worker has a free slot. ${
            from === 'code' ? 'If a process still declares them in its code, they return within seconds.' : ''
          }`,
          verb: 'Remove limits',
        }
  return act({
    confirm,
    run: () => api.queues.set(name, { limit: null, partitions: null }),
    done: code ? `Reset the limits of ${name}` : `Removed the limits of ${name}`,
    after,
  })
}
