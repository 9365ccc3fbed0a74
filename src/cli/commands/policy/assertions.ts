import type { Simulation } from '../../../core/simulation/simulate.js'
import { formatMs, toMs } from '../../../core/values/duration.js'
import { ChronosError, shown } from '../../../core/values/error.js'
import { checkWord } from '../../../core/values/limits.js'
import { countText } from '../../output/show.js'

/** A requirement on the result of a simulation, so that a build fails if a policy does not meet it. */
export interface Assertion {
  readonly text: string
  /** Judges the policy as given, with its jitter. */
  judge(simulation: Simulation): Judgement
}

export interface Judgement {
  readonly assertion: string
  readonly holds: boolean
  readonly actual: number
  /** The actual value, formatted. */
  readonly words: string
}

interface Measure {
  /** Undefined if the text is not a valid value. */
  read(text: string, simulation: Simulation): number | undefined
  actual(simulation: Simulation): number
  words(value: number, simulation: Simulation): string
  readonly expected: string
}

const DURATION: Pick<Measure, 'read' | 'words' | 'expected'> = {
  read: text => toMs(text, '--assert'),
  words: value => formatMs(value),
  expected: 'a duration such as 5m',
}

const MEASURES: Readonly<Record<string, Measure>> = {
  survives: { ...DURATION, actual: ({ withJitter }) => withJitter.outageSurvivedMs },
  done: { ...DURATION, actual: ({ withJitter }) => withJitter.doneMs },
  wait: { ...DURATION, actual: ({ withJitter }) => withJitter.longestWaitMs },
  peak: {
    read: (text, { scenario: { capacityPerSecond } }) => {
      const times = numberBefore(text, 'x')
      if (times === undefined) return numberBefore(text, '/s') ?? numberBefore(text, '')
      return capacityPerSecond === undefined ? undefined : times * capacityPerSecond
    },
    actual: ({ withJitter }) => withJitter.peakPerSecond,
    words: value => `${countText(value)}/s`,
    expected: 'attempts per second such as 200, or 2x with a --capacity',
  },
  dead: {
    read: (text, { scenario: { jobs } }) => {
      const percent = numberBefore(text, '%')
      return percent === undefined ? numberBefore(text, '') : (percent / 100) * jobs
    },
    actual: ({ withJitter }) => withJitter.dead,
    words: (value, { scenario: { jobs } }) => `${countText(value)} of ${countText(jobs)}`,
    expected: 'a number of jobs such as 0, or a share such as 1%',
  },
  amplification: {
    read: text => numberBefore(text, 'x') ?? numberBefore(text, ''),
    actual: ({ withJitter }) => withJitter.amplification,
    words: value => `${value.toFixed(2)}×`,
    expected: 'attempts per job such as 3 or 3.5x',
  },
  attempts: {
    read: text => numberBefore(text, ''),
    actual: ({ withJitter }) => withJitter.attempts,
    words: value => countText(value),
    expected: 'a number such as 4000',
  },
}

const OPERATORS: Readonly<Record<string, (actual: number, value: number) => boolean>> = {
  '>=': (actual, value) => actual >= value,
  '<=': (actual, value) => actual <= value,
  '>': (actual, value) => actual > value,
  '<': (actual, value) => actual < value,
  '=': (actual, value) => actual === value,
}

const FORM = /^\s*([A-Za-z]+)\s*(>=|<=|>|<|=)\s*(\S{1,40})\s*$/

export function parseAssertion(text: string): Assertion {
  const [, name = '', operator = '', value = ''] = FORM.exec(text) ?? []
  if (name === '') throw invalid(`${shown(text)} is not an assertion; write one such as 'survives>=5m'`)
  checkWord(name, Object.keys(MEASURES), '--assert')
  const measure = MEASURES[name]!
  const written = `${name}${operator}${value}`
  return {
    text: written,
    judge(simulation) {
      const limit = measure.read(value, simulation)
      if (limit === undefined) throw invalid(`expected ${measure.expected} in "${written}", got ${shown(value)}`)
      const actual = measure.actual(simulation)
      const words = measure.words(actual, simulation)
      return { assertion: written, holds: OPERATORS[operator]!(actual, limit), actual, words }
    },
  }
}

function numberBefore(text: string, unit: string): number | undefined {
  const digits = text.endsWith(unit) ? text.slice(0, text.length - unit.length) : ''
  return /^\d{1,15}(\.\d{1,15})?$/.test(digits) ? Number(digits) : undefined
}

function invalid(problem: string): ChronosError {
  return new ChronosError('INVALID_OPTION', `--assert: ${problem}`)
}
