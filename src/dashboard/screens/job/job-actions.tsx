import { useSignal } from '@preact/signals'
import type { JobView } from '../../../core/job/view.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { asCurl, copyText } from '../../data/copy.js'
import { may } from '../../data/session.js'
import { CodeSample } from '../../parts/code-sample.js'
import { type Action, PageActions } from '../../parts/layer/actions.js'
import { Dialog } from '../../parts/layer/dialog.js'
import { useKeys } from '../../shell/keys.js'
import { go, pageOf, segment } from '../../shell/router.js'
import { EditJob } from './job-edit.js'
import { RescheduleJob } from './job-reschedule.js'
import { sampleOf } from './job-sample.js'

type Layer = 'edit' | 'reschedule' | 'copy'

/** The actions for a job that its state and the role allow. */
export function JobActions({ job, onChange }: { readonly job: JobView; readonly onChange: () => void }) {
  const open = useSignal<Layer | undefined>(undefined)
  const show = (layer: Layer) => () => {
    open.value = layer
  }
  const close = (): void => {
    open.value = undefined
  }
  const copyId = (): void => void copyText(job.id, 'Job id copied')
  useKeys([{ keys: 'y', does: 'Copy id', group: 'Actions', run: copyId }])
  return (
    <>
      <PageActions
        label="More actions"
        actions={[
          { text: 'Copy as', icon: 'copy', hint: 'curl, TypeScript, CLI', as: 'button', onPress: show('copy') },
          ...(may('operator') ? changesOf(job, onChange, show) : []),
        ]}
      />
      {open.value === 'edit' && <EditJob job={job} onClose={close} onDone={onChange} />}
      {open.value === 'reschedule' && <RescheduleJob job={job} onClose={close} onDone={onChange} />}
      {open.value === 'copy' && <CopyAs job={job} onClose={close} />}
    </>
  )
}

function CopyAs({ job, onClose }: { readonly job: JobView; readonly onClose: () => void }) {
  return (
    <Dialog title="Copy as" size="md" onClose={onClose}>
      <div class="stack">
        <p class="muted">Create a job like this one:</p>
        <CodeSample sample={sampleOf(job)} label="Job as code" />
        <p class="muted">Read this job:</p>
        <CodeSample
          label="Request for this job"
          sample={{
            curl: asCurl('GET', `/jobs/${segment(job.id)}`),
            ts: `await chronos.jobs.get('${job.id}')`,
            cli: `chronos jobs get ${job.id}`,
          }}
        />
      </div>
    </Dialog>
  )
}

/** The actions that change a job, with confirmation and message. */
function changesOf(job: JobView, after: () => void, show: (layer: Layer) => () => void): readonly (Action | false)[] {
  const { id, name, state } = job
  const isWaiting = state === 'waiting'
  const isRunning = state === 'running'
  return [
    isWaiting && {
      text: 'Run now',
      icon: 'skip',
      hint: 'Skips the wait; keeps the attempt count',
      shortcut: 'n',
      as: 'primary',
      onPress: () =>
        void act({ run: () => api.jobs.runNow(id), done: 'The job runs as soon as a worker is free', after }),
    },
    (state === 'dead' || state === 'cancelled') && {
      text: 'Retry',
      icon: 'retry',
      hint: 'Starts it again with all attempts',
      shortcut: 'r',
      as: 'primary',
      onPress: () => void act({ run: () => api.jobs.retry(id), done: 'Restarted the job with all attempts', after }),
    },
    isWaiting && {
      text: 'Reschedule …',
      icon: 'clock',
      hint: 'Changes the time; keeps the attempt count',
      onPress: show('reschedule'),
    },
    isWaiting && {
      text: 'Edit …',
      icon: 'edit',
      hint: 'Payload, priority, queue, tags',
      shortcut: 'e',
      onPress: show('edit'),
    },
    {
      text: 'Replay',
      icon: 'replay',
      hint: 'Creates a new job with the same payload',
      onPress: () =>
        void act({
          run: () => api.jobs.replay(id),
          done: made => ({
            text: 'Created a new job',
            tone: 'ok',
            link: { href: pageOf('jobs', made.id), text: 'Open job' },
          }),
        }),
    },
    (isWaiting || isRunning) && {
      text: 'Cancel',
      icon: 'cancel',
      hint: 'Stops it and keeps the record',
      shortcut: 'C',
      tone: 'danger',
      onPress: () => void cancel(job, after),
    },
    !isRunning && {
      text: 'Delete',
      icon: 'trash',
      hint: 'Removes the record and its history',
      shortcut: 'D',
      tone: 'danger',
      onPress: () =>
        void act({
          confirm: {
            title: `Delete job ${name}?`,
            effect: "Its record, payload and history are removed. This can't be undone.",
            verb: 'Delete job',
            tone: 'danger',
          },
          run: () => api.jobs.delete(id),
          done: 'Deleted the job',
          after: () => go('/jobs'),
        }),
    },
  ]
}

function cancel({ id, name, state }: JobView, after: () => void): Promise<unknown> {
  const isRunning = state === 'running'
  return act({
    confirm: {
      title: `Cancel job ${name}?`,
      effect: isRunning
        ? 'The handler is asked to stop; its effects so far are not undone. The record stays, and Retry starts the job again.'
        : 'The job does not run. The record stays, and Retry starts it again.',
      verb: 'Cancel job',
      tone: 'danger',
    },
    run: () => api.jobs.cancel(id),
    done: isRunning ? 'Asked the job to stop' : 'Cancelled the job',
    after,
    ...(state === 'waiting' && { undo: () => api.jobs.retry(id) }),
  })
}
