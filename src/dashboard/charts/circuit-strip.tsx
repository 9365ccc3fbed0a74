import './pictures.css'
import type { CircuitView } from '../../engine/dependencies/circuits.js'
import { now } from '../data/clock.js'
import { age } from '../data/format.js'
import { clamp } from './scale.js'

type Facts = Pick<CircuitView, 'state' | 'since' | 'openUntil' | 'notBefore' | 'forced'>

const STEPS = [
  ['closed', 'calls pass'],
  ['open', 'calls are held back'],
  ['half-open', 'one probe at a time'],
  ['ramping', 'the rate rises step by step'],
] as const

const WIDTH = 232
const STEP = WIDTH / STEPS.length

/** The state of a circuit in its cycle, and the time until the next probe. */
export function CircuitStrip({ circuit }: { readonly circuit: Facts }) {
  const { state, since, forced } = circuit
  const at = STEPS.findIndex(([step]) => step === state)
  const [from, to] = [Date.parse(since), endOf(circuit)]
  const share = to === undefined ? undefined : clamp((now.value - from) / Math.max(1, to - from), 0, 1)
  const words = wordsOf(circuit, to, now.value)
  return (
    <svg class="strip circuit" width={WIDTH} height="34" role="img" aria-label={words} data-tip={words}>
      {STEPS.map(([step], i) => (
        <g key={step} class={`circuit-step is-${step}${i === at ? ' is-now' : ''}`}>
          <rect x={i * STEP + 1} y="1" width={STEP - 3} height="16" rx="4" />
          {i === at && share !== undefined && (
            <rect class="circuit-fill" x={i * STEP + 1} y="1" width={share * (STEP - 3)} height="16" rx="4" />
          )}
          <text x={i * STEP + STEP / 2} y="13" text-anchor="middle">
            {step}
          </text>
        </g>
      ))}
      <text class="circuit-text" x={clamp(at * STEP, 0, WIDTH - 90)} y="30">
        {forced ? 'forced' : to !== undefined && to > now.value ? `${age(to - now.value)} left` : ''}
      </text>
    </svg>
  )
}

function endOf({ state, openUntil, notBefore }: Facts): number | undefined {
  const end = state === 'open' ? openUntil : notBefore
  return end === undefined ? undefined : Date.parse(end)
}

function wordsOf({ state, since, forced }: Facts, to: number | undefined, at: number): string {
  const means = STEPS.find(([step]) => step === state)?.[1] ?? ''
  const until = to !== undefined && to > at ? `, ${age(to - at)} left` : ''
  return `${state}${forced ? ' (forced)' : ''}: ${means}; for ${age(at - Date.parse(since))}${until}`
}
