import { useSignal } from '@preact/signals'
import type { Limit, PartitionLimits } from '../../../core/partition/limits.js'
import type { QueueReport } from '../../../engine/jobs/queue-report.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { asProblem } from '../../data/http.js'
import { Editor } from '../../parts/form/editor.js'
import { Fields, type FormField, useDraft } from '../../parts/form/form.js'
import type { Wrong } from '../../parts/form/typed.js'
import {
  changeOf,
  changeWords,
  limitValues,
  partitionValues,
  refusedFields,
  typedPartitionLimits,
  typedQueueLimit,
} from './limits-form.js'

interface LimitsEditorProps {
  readonly queue: QueueReport
  readonly after: () => void
  readonly onClose: () => void
}

const NOTHING: Readonly<Record<'limit' | 'partitions', Wrong>> = { limit: {}, partitions: {} }

/** Edits the limits of a queue and of its partitions. */
export function LimitsEditor({ queue: { name, limits }, after, onClose }: LimitsEditorProps) {
  const own = useDraft(limitValues(limits?.limit))
  const each = useDraft(partitionValues(limits?.partitions))
  const refused = useSignal({ of: '', wrong: NOTHING })
  const typed = JSON.stringify([own, each])
  // An error of the server is about what was sent; it goes when something else is typed.
  const answered = refused.value.of === typed ? refused.value.wrong : NOTHING
  const forms = {
    limit: typedQueueLimit(own, answered.limit),
    partitions: typedPartitionLimits(each, answered.partitions),
  }
  const change = changeOf(limits, {
    limit: forms.limit.body as Limit | undefined,
    partitions: forms.partitions.body as PartitionLimits | undefined,
  })
  const isValid = Object.keys({ ...forms.limit.wrong, ...forms.partitions.wrong }).length === 0
  const isChange = Object.keys(change).length > 0
  return (
    <Editor
      size="lg"
      title={`Limits of ${name}`}
      verb="Set limits"
      onClose={onClose}
      isReady={isValid && isChange}
      why={isValid ? 'Nothing has changed.' : undefined}
      onSave={() =>
        act({
          confirm: {
            title: `Set the limits of ${name}?`,
            effect: `${changeWords(limits, change)} They apply to starts from now on, on all workers; running jobs continue.`,
            verb: 'Set limits',
          },
          run: async () => {
            try {
              return await api.queues.set(name, change)
            } catch (error) {
              refused.value = { of: typed, wrong: refusedFields(asProblem(error)) }
              throw error
            }
          },
          done: `Set the limits of ${name}`,
          after,
        })
      }
    >
      <fieldset class="field-group stack">
        <legend>Whole queue</legend>
        <Fields {...forms.limit} fields={[{ ...CONCURRENCY, autoFocus: true }, RATE, BURST]} />
        <Fields {...forms.limit} fields={[UNITS]} />
      </fieldset>
      <fieldset class="field-group stack">
        <legend>Each partition</legend>
        <Fields {...forms.partitions} fields={[CONCURRENCY, RATE, BURST]} />
        <Fields {...forms.partitions} fields={[LEARN, FAIR]} />
        <Fields {...forms.partitions} fields={[ORDER, ON_DEAD]} />
        <Fields {...forms.partitions} fields={[UNITS, OVERRIDE]} />
      </fieldset>
      {limits && (limits.from === 'code' || limits.code) && (
        <p class="muted">Partition limits that are left empty are those of the code.</p>
      )}
    </Editor>
  )
}

const CONCURRENCY = {
  name: 'concurrency',
  label: 'Concurrency',
  hint: 'Jobs that run at the same time',
  placeholder: 'no limit',
} as const
const RATE = {
  name: 'rate',
  label: 'Rate',
  hint: 'Starts: 20/s, 500/m, 5000/h',
  kind: 'code',
  placeholder: 'no limit',
} as const
const BURST = { name: 'burst', label: 'Burst', hint: 'Starts at once; default those of one second' } as const
const UNITS = {
  name: 'units',
  label: 'Units (JSON)',
  hint: 'Rates of what a start costs: {"tokens": "90000/m"}',
  kind: 'lines',
  rows: 3,
} as const
const OVERRIDE = {
  name: 'override',
  label: 'Single partitions (JSON)',
  hint: 'Limits by partition: {"acct:7": {"concurrency": 10}}',
  kind: 'lines',
  rows: 3,
} as const
const LEARN: FormField<'learn'> = {
  name: 'learn',
  label: 'Learn the rate',
  hint: 'Lowered by Retry-After, RateLimit and 429, and raised slowly again',
  options: [
    { value: '', text: 'No' },
    { value: 'true', text: 'Yes, from responses' },
  ],
}
const FAIR: FormField<'fair'> = {
  name: 'fair',
  label: 'Fair',
  hint: 'Any limit makes partitions take turns, too',
  options: [
    { value: '', text: 'No' },
    { value: 'true', text: 'Yes, partitions take turns' },
  ],
}
const ORDER: FormField<'order'> = {
  name: 'order',
  label: 'Order',
  hint: 'In order, a job that fails keeps its place',
  options: [
    { value: '', text: 'Any order' },
    { value: 'fifo', text: 'One by one in order (fifo)' },
  ],
}
const ON_DEAD: FormField<'onDead'> = {
  name: 'onDead',
  label: 'On a dead letter',
  hint: 'For partitions in order',
  options: [
    { value: '', text: 'Default: continue' },
    { value: 'continue', text: 'Continue' },
    { value: 'stop', text: 'Stop until it is redriven or discarded' },
  ],
}
