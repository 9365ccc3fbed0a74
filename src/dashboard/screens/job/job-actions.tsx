import { useSignal } from '@preact/signals'
import type { JobView } from '../../../core/job/view.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { asCurl, copyText } from '../../data/copy.js'
import { may } from '../../data/session.js'
import { Button } from '../../parts/button.js'
import { CodeSample } from '../../parts/code-sample.js'
import { Dialog } from '../../parts/dialog.js'
import { Menu, type MenuItem } from '../../parts/menu.js'
import { type KeyBinding, useKeys } from '../../shell/keys.js'
import { go, href, segment } from '../../shell/router.js'
import { EditJob } from './job-edit.js'
import { RescheduleJob } from './job-reschedule.js'
import { sampleOf } from './job-sample.js'

interface JobActionsProps {
  readonly job: JobView
  readonly onChange: () => void
}

type Layer = 'edit' | 'reschedule' | 'copy'

/** What can be done about a job; only what its state, and who asks, allow. */
export function JobActions({ job, onChange }: JobActionsProps) {
  const open = useSignal<Layer | undefined>(undefined)
  const isOperator = may('operator')
  const deeds = deedsOf(job, onChange)
  const show = (what: Layer) => (): void => {
    open.value = what
  }
  const close = (): void => {
    open.value = undefined
  }
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
  const copyId = key('y', 'Copy the id', () => void copyText(job.id, 'Job id copied'))
  if (!isOperator) return [copyId]
  return [
    copyId,
    ...(job.state === 'waiting' ? [key('n', 'Run now', deeds.runNow), key('e', 'Edit', edit)] : []),
    ...(isOver(job) ? [key('r', 'Retry', deeds.retry)] : []),
    ...(isEnded(job) ? [] : [key('C', 'Cancel', deeds.cancel)]),
    ...(job.state === 'running' ? [] : [key('D', 'Delete', deeds.remove)]),
  ]
}

/** The one that is wanted most. */
function MainDeed({ job, deeds }: { readonly job: JobView; readonly deeds: Deeds }) {
  if (job.state === 'waiting') {
    return (
      <Button icon="skip" tone="primary" shortcut="n" tip="Skips the wait; the count stays" onPress={deeds.runNow}>
        Run now
      </Button>
    )
  }
  if (!isOver(job)) return null
  return (
    <Button icon="retry" tone="primary" shortcut="r" tip="Starts it again with all its attempts" onPress={deeds.retry}>
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
      hint: 'Another time; the count of attempts stays',
      onPress: show('reschedule'),
    },
    isWaiting && {
      text: 'Edit …',
      icon: 'edit',
      hint: 'Payload, priority, queue, tags',
      shortcut: 'e',
      onPress: show('edit'),
    },
    { text: 'Replay', icon: 'replay', hint: "A new job from this one's payload", onPress: deeds.replay },
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
        <p class="muted">Makes a job like this one:</p>
        <CodeSample sample={sampleOf(job)} label="The same job as code" />
        <p class="muted">Reads it again:</p>
        <CodeSample
          label="This job as code"
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

/** Each asks where it can't be taken back, does it, and says so. */
function deedsOf(job: JobView, onChange: () => void) {
  const { id, name } = job
  return {
    runNow: () =>
      void act({ run: () => api.jobs.runNow(id), done: 'It runs as soon as a worker is free', after: onChange }),
    retry: () =>
      void act({ run: () => api.jobs.retry(id), done: 'Started again with all its attempts', after: onChange }),
    replay: () =>
      void act({
        run: () => api.jobs.replay(id),
        done: made => ({
          text: 'A new job was made',
          tone: 'ok',
          link: { href: href(`/jobs/${segment(made.id)}`), text: 'Open it' },
        }),
      }),
    cancel: () =>
      void act({
        confirm: {
          title: `Cancel this ${name}?`,
          effect:
            job.state === 'running'
              ? 'Its handler is asked to stop; what it has done so far is not undone. The record stays, and "Retry" starts it again.'
              : 'It does not run. The record stays, and "Retry" starts it again.',
          verb: 'Cancel the job',
          tone: 'danger',
        },
        run: () => api.jobs.cancel(id),
        done: job.state === 'running' ? 'It was asked to stop' : 'Cancelled',
        after: onChange,
        ...(job.state === 'waiting' && { undo: () => api.jobs.retry(id) }),
      }),
    remove: () =>
      void act({
        confirm: {
          title: `Delete this ${name}?`,
          effect: "Its record, payload and history are removed. This can't be undone.",
          verb: 'Delete',
          tone: 'danger',
        },
        run: () => api.jobs.delete(id),
        done: 'Deleted',
        after: () => go('/jobs'),
      }),
  }
}
