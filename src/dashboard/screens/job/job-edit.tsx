import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { JobView } from '../../../core/job/view.js'
import { apiUrl, asProblem, Problem, parseJson, request, sendable } from '../../data/http.js'
import { Button } from '../../parts/button.js'
import { ProblemPanel } from '../../parts/empty.js'
import { Field, Input, Select, TextArea } from '../../parts/form/field.js'
import { jsonText } from '../../parts/json.js'
import { Dialog } from '../../parts/layer/dialog.js'
import { segment } from '../../shell/router.js'
import { announce, toast } from '../../shell/toasts.js'

interface EditJobProps {
  readonly job: JobView
  readonly onClose: () => void
  readonly onDone: () => void
}

const PRIORITIES = Array.from({ length: 10 }, (_, i) => ({
  value: String(9 - i),
  text: `${9 - i}${i === 0 ? ', first' : i === 4 ? ', default' : i === 9 ? ', last' : ''}`,
}))

/** Edits a waiting job. Saves only if the job has not changed since the dialog was opened. */
export function EditJob({ job, onClose, onDone }: EditJobProps) {
  const payload = useSignal(jsonText(job.payload))
  const priority = useSignal(String(job.priority))
  const queue = useSignal(job.queue)
  const tags = useSignal(job.tags.join(', '))
  const problem = useSignal<Problem | undefined>(undefined)
  const isBusy = useSignal(false)
  const version = useSignal<string | undefined>(undefined)
  useEffect(() => {
    void versionOf(job.id).then(found => (version.value = found))
  }, [])
  const wrong = jsonProblem(payload.value)
  const written = { payload: payload.value, priority: priority.value, queue: queue.value, tags: tags.value }
  const changes = changesOf(job, written)
  const isChanged = Object.keys(changes).length > 0
  const save = async (): Promise<void> => {
    isBusy.value = true
    try {
      await request<JobView>('PATCH', `/jobs/${segment(job.id)}`, { body: changes, ifMatch: version.value })
      toast({ text: 'Saved the job', tone: 'ok' })
      announce('Saved the job')
      onDone()
      onClose()
    } catch (error) {
      problem.value = told(asProblem(error))
    } finally {
      isBusy.value = false
    }
  }
  return (
    <Dialog
      title={`Edit ${job.name}`}
      size="lg"
      onClose={onClose}
      foot={
        <>
          <Button onPress={onClose}>Cancel</Button>
          <Button
            tone="primary"
            busy={isBusy.value}
            disabled={!isChanged || wrong !== undefined}
            onPress={() => void save()}
          >
            Save
          </Button>
        </>
      }
    >
      {problem.value && <ProblemPanel problem={problem.value} />}
      <div class="stack">
        <Field label="Payload" problem={wrong}>
          <TextArea value={payload} rows={12} mono />
        </Field>
      </div>
      <div class="fields">
        <Field label="Priority">
          <Select value={priority.value} options={PRIORITIES} onChange={chosen => (priority.value = chosen)} />
        </Field>
        <Field label="Queue">
          <Input value={queue} mono />
        </Field>
        <Field label="Tags" hint="Separated by commas">
          <Input value={tags} />
        </Field>
      </div>
    </Dialog>
  )
}

interface Written {
  readonly payload: string
  readonly priority: string
  readonly queue: string
  readonly tags: string
}

/** Only the changed fields. */
function changesOf(job: JobView, { payload, priority, queue, tags }: Written) {
  const isPayload = payload !== jsonText(job.payload) && jsonProblem(payload) === undefined
  return {
    ...(isPayload && { payload: sendable(parseJson(payload)) }),
    ...(priority !== String(job.priority) && { priority: Number(priority) }),
    ...(queue.trim() !== job.queue && { queue: queue.trim() }),
    ...(tags !== job.tags.join(', ') && { tags: tagsOf(tags) }),
  }
}

/** The ETag that must still match when the change is saved. */
async function versionOf(id: string): Promise<string | undefined> {
  try {
    const response = await fetch(apiUrl(`/jobs/${segment(id)}`), { credentials: 'same-origin', cache: 'no-store' })
    return response.headers.get('etag') ?? undefined
  } catch {
    return undefined
  }
}

function told(problem: Problem): Problem {
  if (problem.status !== 412) return problem
  return new Problem(412, {
    title: 'The job was modified concurrently',
    code: problem.code,
    detail:
      'A worker claimed it or another user edited it after this dialog was opened. Close the dialog and try again.',
    requestId: problem.requestId,
    retryable: false,
  })
}

function jsonProblem(text: string): string | undefined {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : 'not JSON'
  }
}

const tagsOf = (text: string): readonly string[] =>
  text
    .split(',')
    .map(tag => tag.trim())
    .filter(tag => tag !== '')
