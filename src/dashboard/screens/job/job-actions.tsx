import { useSignal } from '@preact/signals'
import type { JobView } from '../../../core/job/view.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { asCurl, copyText } from '../../data/copy.js'
import { may } from '../../data/session.js'
import { Button } from '../../parts/button.js'
import { CodeSample } from '../../parts/code-sample.js'
import { Dialog } from '../../parts/layer/dialog.js'
import { Menu, type MenuItem } from '../../parts/layer/menu.js'
import { type KeyBinding, useKeys } from '../../shell/keys.js'
import { go, pageOf, segment } from '../../shell/router.js'
import { EditJob } from './job-edit.js'
import { RescheduleJob } from './job-reschedule.js'
import { sampleOf } from './job-sample.js'

interface JobActionsProps {
  readonly job: JobView
  readonly onChange: () => void
}

type Layer = 'edit' | 'reschedule' | 'copy'

/** The actions for a job that its state and the role allow. */
export function JobActions({ job, onChange }: JobActionsProps) {
  const open = useSignal<Layer | undefined>(undefined)
  const isOperator = may('operator')
  const deeds = deedsOf(job, onChange)
  const show = (what: Layer) => () => (open.value = what)
  const close = () => (open.value = undefined)
  useKeys(keysOf(job, isOperator, deeds, show('edit')))
  return (
    <>
      <Button icon="copy" onPress={show('copy')} tip="curl, TypeScript, CLI">
        Copy as
      </Button>
      {isOperator && <MainDeed job={job} deeds={deeds} />}
      {isOperator && <Menu label="More actions" tone="normal" items={itemsOf(job, deeds, show)} />}
      {open.value === 'edit' && <EditJob job={job} onClose={close} onDone={onChange} />}
      {open.value === 'reschedule' && <RescheduleJob job={job} onClose={close} onDone={onChange} />}
      {open.value === 'copy' && <CopyAs job={job} onClose={close} />}
    </>
  )
}

type Deeds = ReturnType<typeof deedsOf>

function keysOf(job: JobView, isOperator: boolean, deeds: Deeds, edit: () => void): readonly KeyBinding[] {
  const key = (keys: string, does: string, run: () => void): KeyBinding => ({ keys, does, run, group: 'Actions' })
  const copyId = key('y', 'Copy id', () => void copyText(job.id, 'Job id copied'))
  if (!isOperator) return [copyId]
  return [
    copyId,
    ...(job.state === 'waiting' ? [key('n', 'Run now', deeds.runNow), key('e', 'Edit', edit)] : []),
    ...(isOver(job) ? [key('r', 'Retry', deeds.retry)] : []),
    ...(isEnded(job) ? [] : [key('C', 'Cancel', deeds.cancel)]),
    ...(job.state === 'running' ? [] : [key('D', 'Delete', deeds.remove)]),
  ]
}

/** The main action. */
function MainDeed({ job, deeds }: { readonly job: JobView; readonly deeds: Deeds }) {
  if (job.state === 'waiting') {
    return (
      <Button
        icon="skip"
        tone="primary"
        shortcut="n"
        tip="Skips the wait; keeps the attempt count"
        onPress={deeds.runNow}
      >
        Run now
      </Button>
    )
  }
  if (!isOver(job)) return null
  return (
    <Button icon="retry" tone="primary" shortcut="r" tip="Starts it again with all attempts" onPress={deeds.retry}>
      Retry
    </Button>
  )
}

function itemsOf(job: JobView, deeds: Deeds, show: (what: Layer) => () => void): readonly (MenuItem | false)[] {
  const isWaiting = job.state === 'waiting'
  return [
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
    { text: 'Replay', icon: 'replay', hint: 'Creates a new job with the same payload', onPress: deeds.replay },
    !isEnded(job) && {
      text: 'Cancel',
      icon: 'cancel',
      hint: 'Stops it and keeps the record',
      shortcut: 'C',
      tone: 'danger',
      onPress: deeds.cancel,
    },
    job.state !== 'running' && {
      text: 'Delete',
      icon: 'trash',
      hint: 'Removes the record and its history',
      shortcut: 'D',
      tone: 'danger',
      onPress: deeds.remove,
    },
  ]
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

const isOver = ({ state }: JobView): boolean => state === 'dead' || state === 'cancelled'
const isEnded = ({ state }: JobView): boolean => state !== 'waiting' && state !== 'running'

/** The actions of a job, with confirmation and message. */
function deedsOf(job: JobView, onChange: () => void) {
  const { id, name } = job
  return {
    runNow: () =>
      void act({ run: () => api.jobs.runNow(id), done: 'The job runs as soon as a worker is free', after: onChange }),
    retry: () =>
      void act({ run: () => api.jobs.retry(id), done: 'Restarted the job with all attempts', after: onChange }),
    replay: () =>
      void act({
        run: () => api.jobs.replay(id),
        done: made => ({
          text: 'Created a new job',
          tone: 'ok',
          link: { href: pageOf('jobs', made.id), text: 'Open job' },
        }),
      }),
    cancel: () =>
      void act({
        confirm: {
          title: `Cancel job ${name}?`,
          effect:
            job.state === 'running'
              ? 'The handler is asked to stop; its effects so far are not undone. The record stays, and Retry starts the job again.'
              : 'The job does not run. The record stays, and Retry starts it again.',
          verb: 'Cancel job',
          tone: 'danger',
        },
        run: () => api.jobs.cancel(id),
        done: job.state === 'running' ? 'Asked the job to stop' : 'Cancelled the job',
        after: onChange,
        ...(job.state === 'waiting' && { undo: () => api.jobs.retry(id) }),
      }),
    remove: () =>
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
  }
}
