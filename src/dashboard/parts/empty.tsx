import type { ComponentChildren } from 'preact'
import { type Problem, trouble } from '../data/http.js'
import type { QueryState } from '../data/query.js'
import { Button } from './button.js'
import { Icon, type IconName } from './icon.js'

export interface EmptyProps {
  readonly icon?: IconName | undefined
  readonly title: ComponentChildren
  readonly children?: ComponentChildren | undefined
  readonly actions?: ComponentChildren | undefined
  /** Empty is the good state. */
  readonly good?: boolean | undefined
}

/** An empty state with its reason. */
export function Empty({ icon = 'info', title, children, actions, good = false }: EmptyProps) {
  return (
    <div class={`empty${good ? ' good' : ''}`}>
      <span class="disc">
        <Icon name={icon} size={20} />
      </span>
      <h2>{title}</h2>
      {children !== undefined && <div class="text">{children}</div>}
      {actions !== undefined && <div class="row wrap">{actions}</div>}
    </div>
  )
}

export interface ProblemPanelProps {
  readonly problem: Problem
  readonly onRetry?: (() => void) | undefined
}

/** An error with its request id and a retry button. */
export function ProblemPanel({ problem, onRetry }: ProblemPanelProps) {
  return (
    <div class="problem" role="alert">
      <Icon name="warning" />
      <div class="grow">
        <p class="strong">{problem.message}</p>
        {problem.detail !== problem.message && <p>{problem.detail}</p>}
        {problem.errors.length > 0 && (
          <ul>
            {problem.errors.map(({ pointer, detail }) => (
              <li key={pointer}>
                <code>{pointer || '/'}</code> {detail}
              </li>
            ))}
          </ul>
        )}
        <p class="muted">
          <code>{problem.code}</code>
          {problem.requestId !== undefined && (
            <>
              {' '}
              · request <code>{problem.requestId}</code>
            </>
          )}
        </p>
      </div>
      {onRetry && <Button text="Try again" size="sm" icon="retry" onPress={onRetry} />}
    </div>
  )
}

/** Placeholder bars while data loads. */
export function Skeleton({ lines = 3 }: { readonly lines?: number | undefined }) {
  return (
    <div class="skeleton" role="status" aria-busy="true" aria-label="Loading">
      {Array.from({ length: lines }, (_, i) => (
        <span key={i} />
      ))}
    </div>
  )
}

export interface AnswerProps<T> {
  readonly query: QueryState<T>
  readonly children: (data: T) => ComponentChildren
  readonly lines?: number | undefined
}

/** The result of a query: its data, dimmed while stale; the error above it; a skeleton after 150 ms. */
export function Answer<T>({ query, children, lines = 6 }: AnswerProps<T>) {
  const { data, problem, isSlow, refetch } = query
  // The shell reports an unavailable server once for the whole page.
  const isSaid = trouble.value !== undefined && data !== undefined
  return (
    <>
      {problem && !isSaid && <ProblemPanel problem={problem} onRetry={refetch} />}
      {data !== undefined ? children(data) : isSlow && !problem && <Skeleton lines={lines} />}
    </>
  )
}

interface DetailProps<T> extends AnswerProps<T> {
  /** Shown if the thing does not exist. */
  readonly icon?: IconName | undefined
  readonly missing: string
  readonly why?: ComponentChildren | undefined
  /** The list to go to instead. */
  readonly list: { readonly href: string; readonly text: string }
}

/** The page of one thing: its data, or why there is none. */
export function Detail<T>({ icon = 'search', missing, why, list, query, children, lines = 10 }: DetailProps<T>) {
  if (query.problem?.status !== 404) return <Answer query={query} lines={lines} children={children} />
  return (
    <Empty icon={icon} title={missing} actions={<Button text={list.text} href={list.href} />}>
      {why}
    </Empty>
  )
}

/** Shown where figures over a time range leave out the oldest records. */
export function Incomplete() {
  return <p class="notice wait">There are too many records: the oldest are not counted. Choose a shorter time range.</p>
}
