import { useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import type { ScheduleView } from '../../../engine/schedules/view.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { later } from '../../data/clock.js'
import { asProblem, type Problem } from '../../data/http.js'
import { type QueryState, useQuery } from '../../data/query.js'
import { may } from '../../data/session.js'
import type { ScreenProps } from '../../lazy.js'
import { Button } from '../../parts/button.js'
import { CodeSample } from '../../parts/code-sample.js'
import { Detail, Empty, ProblemPanel, Skeleton } from '../../parts/empty.js'
import { SOME_WRONG } from '../../parts/form/editor.js'
import { Icon } from '../../parts/icon.js'
import { PageHead, Panel } from '../../parts/panel.js'
import { go, href, pageOf, query, segment } from '../../shell/router.js'
import { useTitle } from '../../shell/title.js'
import { ScheduleConflict } from './schedule-conflict.js'
import {
  type ScheduleDraft,
  scheduleBody,
  scheduleDraft,
  scheduleProblems,
  scheduleSample,
  timingOf,
} from './schedule-draft.js'
import { RuleFields, WhatFields, WhenFields } from './schedule-fields.js'
import { NextRuns, reachOf } from './schedule-occurrences.js'
import { fieldProblems } from './schedule-problems.js'
import './schedule.css'

/** Creates a schedule, empty or as a copy, or edits one. */
export default function ScheduleEditor({ params }: ScreenProps) {
  const id = params['id']
  const like = id ?? query.value['from']
  useTitle(id === undefined ? 'New schedule' : `Edit ${id}`)
  if (!may('operator')) {
    return (
      <Empty icon="schedules" title="Operator role required" actions={<Button text={ALL.text} href={ALL.href} />}>
        Only operators may create or edit schedules.
      </Empty>
    )
  }
  return like === undefined ? <Editor id={undefined} from={undefined} /> : <Like id={id} like={like} />
}

const ALL = { href: href('/schedules'), text: 'All schedules' }

/** Starts with the current schedule and detects concurrent changes. */
function Like({ id, like }: { readonly id: string | undefined; readonly like: string }) {
  const found = useQuery(`schedule to edit ${like}`, signal => api.schedules.get(like, signal), {
    topics: ['schedules'],
  })
  const first = useRef<ScheduleView | undefined>(undefined)
  if (!found.isStale) first.current ??= found.data
  if (first.current) return <Editor id={id} from={first.current} current={id === undefined ? undefined : found} />
  return (
    <Detail query={found} icon="schedules" missing={`Schedule ${like} not found`} list={ALL}>
      {() => <Skeleton lines={10} />}
    </Detail>
  )
}

interface EditorProps {
  /** Undefined for a new schedule. */
  readonly id: string | undefined
  readonly from: ScheduleView | undefined
  readonly current?: QueryState<ScheduleView> | undefined
}

function Editor({ id, from, current }: EditorProps) {
  const begun = useSignal(from)
  const form = useMemo(
    () => scheduleDraft(begun.value, id ?? (begun.value ? `${begun.value.id}-copy` : '')),
    [begun.value],
  )
  const refusal = useSignal<Refusal | undefined>(undefined)
  const isBusy = useSignal(false)
  const preview = usePreview(form)
  const refused = refusal.value && refusal.value.typed === typedIn(form) ? fieldProblems(refusal.value.problem) : {}
  const wrong = { ...scheduleProblems(form), ...refused, ...preview.wrong }
  const isWrong = Object.keys(wrong).length > 0
  const isRight = !isWrong && preview.isSettled
  const theirs = current?.data && current.data.version !== begun.value?.version ? current.data : undefined
  const why = isWrong
    ? SOME_WRONG
    : theirs
      ? 'Another user has changed the schedule: choose a version above.'
      : isRight
        ? undefined
        : 'Checking the upcoming runs …'
  const save = async (version: number | undefined): Promise<void> => {
    isBusy.value = true
    refusal.value = undefined
    await act({
      run: () =>
        saved(id, form, version).catch((error: unknown) => {
          const problem = asProblem(error)
          refusal.value = { problem, typed: typedIn(form) }
          if (problem.status === 412) current?.refetch()
          throw problem
        }),
      done: schedule => `${id === undefined ? 'Created' : 'Saved'} schedule ${schedule.id}`,
      after: schedule => go(`/schedules/${segment(schedule.id)}`),
    })
    isBusy.value = false
  }
  return (
    <form
      onSubmit={event => {
        event.preventDefault()
        if (isRight && !theirs) void save(begun.value?.version)
      }}
    >
      <PageHead
        up={
          id === undefined
            ? { href: href('/schedules'), text: 'Schedules' }
            : { href: pageOf('schedules', id), text: id }
        }
        title={id === undefined ? 'New schedule' : `Edit ${id}`}
      />
      <div class="stack">
        {theirs && (
          <ScheduleConflict
            theirs={theirs}
            mine={scheduleBody(form)}
            canSave={isRight}
            onLoad={() => (begun.value = theirs)}
            onOverwrite={() => void save(theirs.version)}
          />
        )}
        {refusal.value && !isShownElsewhere(refusal.value.problem) && <ProblemPanel problem={refusal.value.problem} />}
        <div class="columns schedule-editor" key={begun.value?.version}>
          <div class="stack">
            <WhenFields draft={form.draft} wrong={wrong} isNew={id === undefined} />
            <WhatFields {...form} wrong={wrong} />
            <RuleFields draft={form.draft} wrong={wrong} />
            {isRight && (
              <Panel title="Schedule as code">
                <CodeSample
                  label="Schedule as code"
                  sample={scheduleSample(form.draft.id.value.trim(), scheduleBody(form))}
                />
              </Panel>
            )}
            <div class="row wrap">
              <Button
                text={id === undefined ? 'Create schedule' : 'Save schedule'}
                tone="primary"
                type="submit"
                busy={isBusy.value}
                disabled={why !== undefined}
              />
              <Button
                text="Cancel"
                tone="quiet"
                href={href(id === undefined ? '/schedules' : `/schedules/${segment(id)}`)}
              />
              {why !== undefined && <span class="muted">{why}</span>}
            </div>
          </div>
          <div class="schedule-preview">
            <Preview form={form} preview={preview} />
          </div>
        </div>
      </div>
    </form>
  )
}

function saved(id: string | undefined, form: ScheduleDraft, version: number | undefined): Promise<ScheduleView> {
  const body = scheduleBody(form)
  return id === undefined
    ? api.schedules.create(form.draft.id.value.trim(), body)
    : api.schedules.put(id, body, version)
}

/** Why the server did not save a draft, and the draft: the errors disappear when the draft is edited. */
interface Refusal {
  readonly problem: Problem
  readonly typed: string
}

/** The conflict panel shows a concurrent change, and the fields show their own errors. */
const isShownElsewhere = (problem: Problem): boolean =>
  problem.status === 412 || Object.keys(fieldProblems(problem)).length > 0

const typedIn = (form: ScheduleDraft): string => JSON.stringify([form.draft.id.value.trim(), scheduleBody(form)])

const SETTLED_MS = 250

interface PreviewState {
  readonly answer: QueryState<Awaited<ReturnType<typeof api.schedules.preview>> | undefined>
  readonly wrong: Readonly<Record<string, string>>
  /** The preview matches the current fields. */
  readonly isSettled: boolean
}

/** Loads the preview shortly after the last keystroke. */
function usePreview(form: ScheduleDraft): PreviewState {
  const timing = timingOf(form)
  const key = timing ? JSON.stringify(timing) : ''
  const settled = useSignal(key)
  useEffect(() => later(SETTLED_MS, () => (settled.value = key)), [key])
  const asked = settled.value
  const answer = useQuery(`preview ${asked}`, async signal => {
    if (asked === '') return undefined
    const body = JSON.parse(asked) as { readonly cron?: string; readonly timeZone?: string }
    const count = reachOf({ cron: body.cron, timeZone: body.timeZone ?? 'UTC' })
    return api.schedules.preview({ ...body, count }, signal)
  })
  const isRefused = answer.problem !== undefined && answer.problem.status >= 400 && answer.problem.status < 500
  return {
    answer,
    wrong: isRefused && asked === key ? timingProblems(answer.problem!) : {},
    isSettled: asked === key && !answer.isLoading && key !== '' && answer.problem === undefined,
  }
}

function timingProblems(problem: Problem): Readonly<Record<string, string>> {
  const found = fieldProblems(problem)
  return Object.keys(found).length > 0 ? found : { timing: problem.detail }
}

interface PreviewProps {
  readonly form: ScheduleDraft
  readonly preview: PreviewState
}

function Preview({ form: { draft }, preview: { answer, wrong } }: PreviewProps) {
  const timeZone = draft.timeZone.value.trim() || 'UTC'
  const refused = Object.values(wrong)[0]
  const occurrences = answer.data?.data
  return (
    <Panel title="Upcoming runs" note={timeZone}>
      {refused !== undefined ? (
        <p class="schedule-never" role="status">
          <Icon name="warning" /> <span>{refused}</span>
        </p>
      ) : answer.problem ? (
        <ProblemPanel problem={answer.problem} onRetry={answer.refetch} />
      ) : occurrences === undefined ? (
        <p class="muted">Enter a cron expression or an interval to see the next ten runs.</p>
      ) : occurrences.length === 0 ? (
        <p class="schedule-never">
          <Icon name="warning" /> This schedule never runs.
        </p>
      ) : (
        <div class={answer.isStale ? 'stale' : ''}>
          <NextRuns occurrences={draft.isOnce.value ? occurrences.slice(0, 1) : occurrences} timeZone={timeZone} />
        </div>
      )}
    </Panel>
  )
}
