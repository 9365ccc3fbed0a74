import type { Signal } from '@preact/signals'
import { useId } from 'preact/hooks'
import { count, duration } from '../../data/format.js'

interface RateSliderProps {
  /** Jobs per second. */
  readonly rate: Signal<number>
  readonly total?: number | undefined
  /** Called when the slider is released. */
  readonly onDone?: ((rate: number) => void) | undefined
}

const RATES = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000] as const

/** From one to a thousand jobs per second, in round steps. */
export function RateSlider({ rate, total, onDone }: RateSliderProps) {
  const id = useId()
  const at = nearest(rate.value)
  return (
    <div class="rate">
      <label for={id}>Rate</label>
      <input
        id={id}
        type="range"
        min={0}
        max={RATES.length - 1}
        step={1}
        value={at}
        aria-valuetext={`${rate.value} jobs per second`}
        onInput={event => {
          rate.value = RATES[Number(event.currentTarget.value)] ?? 10
        }}
        onChange={() => onDone?.(rate.value)}
      />
      <output for={id}>
        <span class="strong">{count(rate.value)}/s</span>
        {total !== undefined && <span class="muted"> ≈ {duration((total / rate.value) * 1000)}</span>}
      </output>
    </div>
  )
}

function nearest(rate: number): number {
  const distances = RATES.map(each => Math.abs(Math.log(each / Math.max(0.01, rate))))
  return distances.indexOf(Math.min(...distances))
}
