import { useSignal } from '@preact/signals'
import type { FleetStats } from '../../../engine/figures/statistics.js'
import { useQuery } from '../../data/query.js'
import { Answer, Empty } from '../../parts/empty.js'
import { Icon } from '../../parts/icon.js'
import { Panel } from '../../parts/panel.js'
import { type Item, itemsOf, look } from './overview-items.js'
import type { QueuesQuery } from './overview-queues.js'

/** More would hide what is worst. */
const ITEMS_SHOWN = 5

/** The things that need attention, worst first. */
export function Attention({ stats, queues }: { readonly stats: FleetStats; readonly queues: QueuesQuery }) {
  const around = useQuery('attention', look, {
    topics: ['dead', 'alerts', 'circuits', 'redrives', 'webhooks'],
    everyMs: 15_000,
  })
  return (
    <Panel title="Needs attention" flush>
      <Answer query={queues}>
        {list => (
          <Answer query={around}>{data => <Items items={itemsOf({ ...data, queues: list.data, stats })} />}</Answer>
        )}
      </Answer>
    </Panel>
  )
}

function Items({ items }: { readonly items: readonly Item[] }) {
  const isAll = useSignal(false)
  if (items.length === 0) {
    return (
      <Empty icon="check" title="Everything is fine" good>
        No alert is firing, no queue is paused or without workers while jobs wait, and there are no new dead letters.
      </Empty>
    )
  }
  const shown = isAll.value ? items : items.slice(0, ITEMS_SHOWN)
  return (
    <ul class="attention">
      {shown.map(item => (
        <li key={item.key}>
          <a href={item.to}>
            <span class={item.hue}>
              <Icon name={item.icon} />
            </span>
            <span class="grow">
              <span class="title">{item.title}</span>
              <span class="note">{item.note}</span>
            </span>
            <Icon name="right" size={12} class="muted" />
          </a>
        </li>
      ))}
      {shown.length < items.length && (
        <li>
          <button type="button" class="link-button attention-more" onClick={() => (isAll.value = true)}>
            {items.length - shown.length} more
          </button>
        </li>
      )}
    </ul>
  )
}
