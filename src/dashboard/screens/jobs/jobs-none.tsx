import * as api from '../../data/api.js'
import { count } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { range, rangeText, setLast } from '../../data/range.js'
import { Button } from '../../parts/button.js'
import { Empty } from '../../parts/empty.js'
import { go, href, setQuery } from '../../shell/router.js'
import { FirstSteps } from '../overview/overview-first-steps.js'

interface NoJobsProps {
  readonly filter: Readonly<Record<string, string>>
  readonly searched: { readonly newest: number; readonly complete: boolean } | undefined
  /** Where the search goes on. */
  readonly next: string | undefined
}

/** An empty result, with the number of matches without each filter. */
export function NoJobs({ filter, searched, next }: NoJobsProps) {
  const names = Object.keys(filter)
  if (names.length === 0) return <FirstSteps />
  const isPart = searched !== undefined && !searched.complete && next !== undefined
  return (
    <Empty
      icon="search"
      title={isPart ? `Not in the newest ${count(searched.newest)} jobs` : 'No matching jobs'}
      actions={
        <>
          {isPart && (
            <Button text="Search older jobs" tone="primary" icon="search" onPress={() => setQuery({ cursor: next })} />
          )}
          <Button text="Clear filter" icon="close" onPress={() => go('/jobs')} />
        </>
      }
    >
      {range.value && (
        <p>
          The time range is {rangeText(range.value)}.{' '}
          <Button text="Show all time" size="sm" onPress={() => setLast(undefined)} />
        </p>
      )}
      {names.length > 1 && <Culprits filter={filter} />}
    </Empty>
  )
}

const URL_NAMES: Readonly<Record<string, string>> = {
  phase: 'state',
  scheduleId: 'schedule',
  redriveId: 'redrive',
  workerId: 'worker',
  tenantId: 'tenant',
  createdAfter: 'after',
  createdBefore: 'before',
}

/** The time range has its own button. */
const isTime = (name: string): boolean => range.peek() !== undefined && /(After|Before)$/.test(name)

function Culprits({ filter }: { readonly filter: Readonly<Record<string, string>> }) {
  const without = useQuery(`without ${JSON.stringify(filter)}`, async signal =>
    Promise.all(
      Object.keys(filter)
        .filter(name => !isTime(name))
        .map(async name => {
          const { [name]: _, ...rest } = filter
          const { count: left } = await api.jobs.list({ ...rest, limit: 1 }, signal)
          return { name, left }
        }),
    ),
  )
  const culprits = (without.data ?? []).filter(({ left }) => left.value > 0)
  if (culprits.length === 0) return null
  return (
    <ul class="culprits">
      {culprits.map(({ name, left }) => {
        const token = URL_NAMES[name] ?? name
        return (
          <li key={name}>
            Without{' '}
            <code>
              {token}:{filter[name]}
            </code>{' '}
            there {left.value === 1 ? 'is' : 'are'}{' '}
            <a
              href={href('/jobs')}
              onClick={event => {
                event.preventDefault()
                setQuery({ [token]: undefined, cursor: undefined })
              }}
            >
              {count(left)}
            </a>
          </li>
        )
      })}
    </ul>
  )
}
