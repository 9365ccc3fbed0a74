import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import * as api from '../data/api.js'
import { useQuery } from '../data/query.js'
import { isTenant, may } from '../data/session.js'
import { Icon, type IconName } from '../parts/icon.js'
import { Dialog } from '../parts/layer/dialog.js'
import { StateMark } from '../parts/state.js'
import { placesFor } from '../routes.js'
import { href, navigate, pageOf } from './router.js'

interface Hit {
  readonly key: string
  readonly icon: IconName
  readonly text: string
  readonly note?: string
  readonly phase?: string
  readonly to: string
}

const FOUND_MAX = 6
/** Shorter texts match too much. */
const FIND_FROM = 3

/** The search dialog: finds screens, queues and jobs. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const text = useSignal('')
  const at = useSignal(0)
  const list = useRef<HTMLDivElement>(null)
  const wanted = text.value.trim()
  const found = useQuery(`palette ${wanted}`, signal => find(wanted, signal))
  const hits = [...screensFor(wanted), ...searchesFor(wanted), ...(wanted === '' ? [] : (found.data ?? []))]
  const take = (hit: Hit | undefined): void => {
    // Replaces the search in the history, so that Back returns to the page before it.
    if (hit) navigate(hit.to, { replace: true })
  }
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' })
  }, [at.value])
  return (
    <Dialog title="Search" onClose={onClose}>
      <div class="stack tight palette">
        <input
          class="input"
          type="text"
          role="combobox"
          aria-label="Screen, queue, job id or text of a job"
          aria-expanded="true"
          aria-controls="palette-hits"
          aria-activedescendant={hits[at.value] ? `hit-${at.value}` : undefined}
          placeholder="Screen, queue, job id or text of a job"
          autocomplete="off"
          spellcheck={false}
          autofocus
          value={text.value}
          onInput={event => {
            text.value = event.currentTarget.value
            at.value = 0
          }}
          onKeyDown={event => {
            const by = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
            if (by !== 0) at.value = (at.value + by + hits.length) % Math.max(1, hits.length)
            else if (event.key === 'Enter') take(hits[at.value])
            else return
            event.preventDefault()
          }}
        />
        <div ref={list} role="listbox" id="palette-hits" aria-label="Search results">
          {hits.map((hit, i) => (
            <div
              key={hit.key}
              id={`hit-${i}`}
              role="option"
              tabIndex={-1}
              aria-selected={i === at.value}
              onClick={() => take(hit)}
              onKeyDown={event => event.key === 'Enter' && take(hit)}
              onMouseMove={() => (at.value = i)}
            >
              {hit.phase === undefined ? <Icon name={hit.icon} /> : <StateMark state={hit.phase} as="icon" />}
              <span class="clip grow">{hit.text}</span>
              {hit.note !== undefined && <span class="muted nowrap">{hit.note}</span>}
            </div>
          ))}
        </div>
      </div>
    </Dialog>
  )
}

function screensFor(wanted: string): readonly Hit[] {
  const words = wanted.toLowerCase()
  return placesFor(isTenant.value, may('admin'))
    .flatMap(group => group.places)
    .filter(({ text }) => text.toLowerCase().includes(words))
    .map(({ path, text, icon, key }) => ({ key: path, icon, text, to: href(path), ...(key && { note: `g ${key}` }) }))
}

function searchesFor(wanted: string): readonly Hit[] {
  if (wanted === '') return []
  return [{ key: 'search', icon: 'search', text: `Search jobs for “${wanted}”`, to: href('/jobs', { q: wanted }) }]
}

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-/i

async function find(wanted: string, signal: AbortSignal): Promise<readonly Hit[]> {
  if (wanted.length < FIND_FROM) return []
  const [queues, jobs] = await Promise.all([findQueues(wanted, signal), findJobs(wanted, signal)])
  return [...queues, ...jobs]
}

/** A tenant does not see queues. */
async function findQueues(wanted: string, signal: AbortSignal): Promise<readonly Hit[]> {
  if (isTenant.peek()) return []
  const { data } = await api.queues.list({ q: wanted, limit: FOUND_MAX }, signal)
  return data.map(({ name }) => ({
    key: `queue ${name}`,
    icon: 'queues',
    text: name,
    note: 'queue',
    to: pageOf('queues', name),
  }))
}

async function findJobs(wanted: string, signal: AbortSignal): Promise<readonly Hit[]> {
  const filter = ID.test(wanted) ? { ids: wanted } : { q: wanted }
  const { data } = await api.jobs.list({ ...filter, limit: FOUND_MAX }, signal)
  return data.map(job => ({
    key: job.id,
    icon: 'jobs',
    text: job.name,
    note: `…${job.id.slice(-8)}`,
    phase: job.phase,
    to: pageOf('jobs', job.id),
  }))
}
