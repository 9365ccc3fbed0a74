import type { ComponentChildren } from 'preact'
import type { Explanation } from '../../../core/job/explain.js'
import type { QueryState } from '../../data/query.js'
import { ProblemPanel, Skeleton } from '../../parts/empty.js'
import { Icon, type IconName } from '../../parts/icon.js'
import { Panel } from '../../parts/panel.js'
import { Time } from '../../parts/time.js'
import { Words } from '../../parts/words.js'

/** Explains a job: why it is waiting, why it was retried or not, and what happens next. */
export function Story({ told }: { readonly told: QueryState<Explanation> }) {
  const { data, problem, isStale, isSlow, refetch } = told
  return (
    <Panel title="Explanation" stale={isStale}>
      {problem && problem.status !== 404 && <ProblemPanel problem={problem} onRetry={refetch} />}
      {!data && isSlow && <Skeleton lines={3} />}
      {data && (
        <div class="story">
          <p class="story-summary">
            <Words text={data.summary} />
          </p>
          <dl>
            {data.waiting && !data.summary.includes(data.waiting.words) && (
              <Line icon="clock" title="Reason for waiting">
                <Words text={sentence(data.waiting.words)} />
                {data.waiting.until && (
                  <span class="muted">
                    {' '}
                    Until <Time at={data.waiting.until} />.
                  </span>
                )}
              </Line>
            )}
            {data.last && (
              <Line icon="retry" title={data.last.decision.action === 'die' ? 'Reason for no retry' : 'Last decision'}>
                <Words text={data.last.words} />
              </Line>
            )}
            {data.next && (
              <Line icon="right" title="Next step">
                <Words text={data.next.words} />
              </Line>
            )}
            {data.dies && (
              <Line icon="dead" title="Forecast">
                <Words text={data.dies.words} />
              </Line>
            )}
          </dl>
          {data.details.length > 0 && (
            <details>
              <summary>Details</summary>
              <ul>
                {data.details.map(detail => (
                  <li key={detail}>
                    <Words text={detail} />
                  </li>
                ))}
              </ul>
            </details>
          )}
        </div>
      )}
    </Panel>
  )
}

interface LineProps {
  readonly icon: IconName
  readonly title: string
  readonly children: ComponentChildren
}

function Line({ icon, title, children }: LineProps) {
  return (
    <div>
      <dt>
        <Icon name={icon} size={14} />
        {title}
      </dt>
      <dd>{children}</dd>
    </div>
  )
}

function sentence(words: string): string {
  const begun = words.charAt(0).toUpperCase() + words.slice(1)
  return /[.!?]$/.test(begun) ? begun : `${begun}.`
}
