import { useSignal } from '@preact/signals'
import { serverNow } from '../data/clock.js'
import { isoOf, localText } from '../data/format.js'
import { ALL_TIME, LAST, range, rangeDefault, rangeParameters, rangeText, setLast, setRange } from '../data/range.js'
import { Button } from '../parts/button.js'
import { Field, Input } from '../parts/form/field.js'
import { Icon } from '../parts/icon.js'
import { Dialog } from '../parts/layer/dialog.js'
import { Menu } from '../parts/layer/menu.js'
import { href, path } from './router.js'

const WORDS: Readonly<Record<(typeof LAST)[number], string>> = {
  '15m': 'Last 15 minutes',
  '1h': 'Last hour',
  '6h': 'Last 6 hours',
  '24h': 'Last 24 hours',
  '2d': 'Last 2 days',
  '7d': 'Last 7 days',
  '30d': 'Last 30 days',
}

/** The time range of the screen, for all its lists and charts. */
export function RangeMenu() {
  const isCustom = useSignal(false)
  const otherwise = rangeDefault.value
  if (otherwise === undefined) return null
  const chosen = range.value
  const choose = (last: string): void => setLast(last === otherwise ? undefined : last)
  return (
    <>
      <Menu
        label={`Time range: ${rangeText(chosen)}`}
        tone="normal"
        items={[
          ...LAST.map(last => ({
            text: WORDS[last],
            checked: chosen?.last === last,
            onPress: () => choose(last),
          })),
          otherwise === ALL_TIME && {
            text: 'All time',
            checked: chosen === undefined,
            onPress: () => choose(ALL_TIME),
          },
          {
            text: 'Custom range …',
            checked: chosen?.to !== undefined,
            onPress: () => (isCustom.value = true),
          },
          path.value !== '/incident' && {
            text: 'Show incident report',
            icon: 'incident' as const,
            hint: 'What happened in this time?',
            href: href('/incident', rangeParameters()),
          },
        ]}
      >
        <Icon name="clock" size={14} />
        <span class="range-text clip">{rangeText(chosen)}</span>
      </Menu>
      {isCustom.value && <CustomRange onClose={() => (isCustom.value = false)} />}
    </>
  )
}

const HOUR_MS = 3_600_000

function CustomRange({ onClose }: { readonly onClose: () => void }) {
  const { from, to } = range.peek() ?? { from: serverNow() - HOUR_MS }
  const start = useSignal(localText(from).slice(0, 16))
  const end = useSignal(localText(to ?? serverNow()).slice(0, 16))
  const [first, last] = [isoOf(start.value), isoOf(end.value)]
  const problem =
    first === undefined || last === undefined
      ? 'Enter both times.'
      : first >= last
        ? 'The start must be before the end.'
        : undefined
  const apply = (event: Event): void => {
    event.preventDefault()
    if (problem !== undefined) return
    onClose()
    setRange(Date.parse(first!), Date.parse(last!))
  }
  return (
    <Dialog size="sm" title="Custom time range" onClose={onClose}>
      <form class="stack" onSubmit={apply}>
        <Field label="From" hint="Local time">
          <Input value={start} type="datetime-local" autoFocus />
        </Field>
        <Field label="To" hint="Local time" problem={problem}>
          <Input value={end} type="datetime-local" />
        </Field>
        <div class="row end">
          <Button text="Cancel" onPress={onClose} />
          <Button text="Apply range" tone="primary" type="submit" disabled={problem !== undefined} />
        </div>
      </form>
    </Dialog>
  )
}
