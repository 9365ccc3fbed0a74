import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { jobEdit } from '../../../core/job/options.js'
import type { JobView } from '../../../core/job/view.js'
import { present } from '../../../core/values/present.js'
import { apiUrl, asProblem, Problem, parseJson, request, sendable } from '../../data/http.js'
import { ProblemPanel } from '../../parts/empty.js'
import { Editor } from '../../parts/form/editor.js'
import { Fields, listOf, TypedField, useDraft, wrongOnes } from '../../parts/form/form.js'
import { type Draft, wrongIn } from '../../parts/form/typed.js'
import { jsonText } from '../../parts/json.js'
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
  const draft = useDraft(valuesOf(job))
  const problem = useSignal<Problem | undefined>(undefined)
  const version = useSignal<string | undefined>(undefined)
  useEffect(() => {
    void versionOf(job.id).then(found => (version.value = found))
  }, [])
  const changes = changesOf(job, draft)
  const wrong = { ...wrongIn(jobEdit, changes), ...wrongOnes({ payload: jsonProblem(draft.payload.value) }) }
  const form = { draft, wrong, of: jobEdit.fields }
  const save = async (): Promise<JobView | undefined> => {
    try {
      const saved = await request<JobView>('PATCH', `/jobs/${segment(job.id)}`, {
        body: changes,
        ifMatch: version.value,
      })
      toast({ text: 'Saved the job', tone: 'ok' })
      announce('Saved the job')
      onDone()
      return saved
    } catch (error) {
      problem.value = told(asProblem(error))
      return undefined
    }
  }
  return (
    <Editor
      title={`Edit ${job.name}`}
      verb="Save"
      size="lg"
      onClose={onClose}
      isReady={Object.keys(wrong).length === 0}
      onSave={save}
    >
      {problem.value && <ProblemPanel problem={problem.value} />}
      <TypedField {...form} name="payload" kind="lines" rows={12} />
      <Fields
        {...form}
        fields={[{ name: 'priority', hint: undefined, options: PRIORITIES }, { name: 'queue', kind: 'code' }, 'tags']}
      />
    </Editor>
  )
}

const valuesOf = ({ payload, priority, queue, tags }: JobView) => ({
  payload: jsonText(payload),
  priority: String(priority),
  queue,
  tags: tags.join(', '),
})

/** Only the changed fields. */
function changesOf(job: JobView, { payload, priority, queue, tags }: Draft<ReturnType<typeof valuesOf>>) {
  const before = valuesOf(job)
  const isPayload = payload.value !== before.payload && jsonProblem(payload.value) === undefined
  return present({
    payload: isPayload ? sendable(parseJson(payload.value)) : undefined,
    priority: priority.value === before.priority ? undefined : Number(priority.value),
    queue: queue.value.trim() === job.queue ? undefined : queue.value.trim(),
    tags: tags.value === before.tags ? undefined : listOf(tags.value),
  })
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
