import { limitWords } from '../../../core/partition/words.js'
import { jitterLabel } from '../../../core/policy/jitter.js'
import { type Finding, lintPolicy } from '../../../core/policy/lint.js'
import type { Policy } from '../../../core/policy/policy.js'
import { type Scenario, type SimulatedHerd, type Simulation, simulate } from '../../../core/simulation/simulate.js'
import { type Duration, formatMs } from '../../../core/values/duration.js'
import { present } from '../../../core/values/present.js'
import { settingsIn } from '../../argument.js'
import { EXIT } from '../../exit.js'
import type { Io } from '../../io.js'
import { type Cell, paint, type Style, styleOf, type Tone } from '../../output/print.js'
import { countText, hang, jsonText, many } from '../../output/show.js'
import { type Judgement, parseAssertion } from './assertions.js'
import { type Frame, HerdChart, roundUp } from './chart.js'
import { type NamedPolicy, type PolicyFlags, readPolicy } from './input.js'
import { findingLines, narrowed, spelled, spelledTable, survivalLines, titleLine } from './words.js'

export interface SimulateOptions extends PolicyFlags {
  readonly jobs: number
  readonly within: Duration
  readonly outage: Duration
  readonly capacity?: number
  readonly seed: number
  readonly takes: Duration
  readonly limit?: string
  readonly partitions?: string
  readonly assert?: readonly string[]
  readonly json?: true
}

interface Page extends NamedPolicy, Simulation {
  readonly findings: readonly Finding[]
  readonly assertions: readonly Judgement[]
}

export async function simulatePolicy(given: string | undefined, options: SimulateOptions, io: Io): Promise<number> {
  const assertions = (options.assert ?? []).map(parseAssertion)
  const { name, policy } = await readPolicy(given, options)
  const simulation = simulate(policy, scenarioOf(options))
  const judgements = assertions.map(assertion => assertion.judge(simulation))
  const page: Page = { name, policy, ...simulation, findings: lintPolicy(policy), assertions: judgements }
  const style = styleOf(io.stdout, io.env)
  io.stdout.write(options.json ? jsonText(page) : spelled(pageOf(page, style), style))
  const failed = judgements.filter(({ holds }) => !holds)
  for (const { assertion, words } of failed)
    io.stderr.write(`error: --assert ${assertion} does not hold: the value is ${words}\n`)
  return failed.length === 0 ? EXIT.ok : EXIT.checkFailed
}

function scenarioOf({ jobs, within, outage, capacity, seed, takes, limit, partitions }: SimulateOptions): Scenario {
  const limits = {
    limit: settingsIn(limit, '--limit', 'rate=20/s,concurrency=10, or JSON'),
    partitions: settingsIn(partitions, '--partitions', 'count=100,rate=1/s, or JSON'),
  }
  // The simulation checks them.
  return present({ jobs, within, outage, seed, takes, capacityPerSecond: capacity, ...limits }) as Scenario
}

const hasJitter = ({ jitter }: Policy): boolean => jitter !== 'none' && jitter !== 0

function pageOf(page: Page, style: Style): string {
  const { name, policy, findings, assertions } = page
  const title = titleLine(name, policy, style)
  // Assertions that do not hold are errors, which go to stderr.
  const kept = assertions.filter(({ holds }) => holds)
  const warnings = findings.filter(({ severity, code }) => severity === 'warning' || code === 'dependencies-left-out')
  return [
    title,
    scenarioLine(page, style),
    `\n${headline(page, style)}`,
    `\n${charts(page, style)}`,
    `\n${figures(page, style)}`,
    warnings.length > 0 ? `\n${findingLines(warnings, style)}` : '',
    kept.length > 0 ? `\n${kept.map(judgement => judgementLine(judgement, style)).join('')}` : '',
  ].join('')
}

function scenarioLine({ scenario }: Page, style: Style): string {
  const { jobs, withinMs, outageMs, capacityPerSecond, seed } = scenario
  const spread = withinMs === 0 ? 'at once' : `within ${formatMs(withinMs)}`
  const down =
    outageMs === 0 ? 'the dependency is never down and' : `the dependency is down for ${formatMs(outageMs)}, then`
  const handles = capacityPerSecond === undefined ? 'handles all' : `handles ${countText(capacityPerSecond)}/s`
  const lines = [`${many(jobs, 'job')} ${spread}, ${down} ${handles}; seed ${seed}`, ...limitLines(scenario)]
  return lines.map(line => tinted(line, 'dim', style)).join('')
}

function limitLines({ limit, partitions, takesMs }: Page['scenario']): readonly string[] {
  const { count = 1, ...each } = partitions ?? {}
  const parts = [
    ...(takesMs === undefined ? [] : [`each attempt takes ${formatMs(takesMs)}`]),
    ...(limit && Object.keys(limit).length > 0 ? [`the queue starts ${limitWords(limit)}`] : []),
    ...(partitions ? [`${many(count, 'partition')}, each ${limitWords(each) || 'without a limit'}`] : []),
  ]
  return parts.length === 0 ? [] : [`limits: ${parts.join('; ')}`]
}

function headline({ withJitter, withoutJitter, policy, scenario }: Page, style: Style): string {
  const more = hasJitter(policy) ? `; without jitter it would be ${formatMs(withoutJitter.outageSurvivedMs)}` : ''
  return survivalLines(withJitter.outageSurvivedMs, more, style) + verdict(withJitter, scenario, style)
}

/** The outcome of the jobs in this outage. */
function verdict(herd: SimulatedHerd, { jobs, outageMs }: Page['scenario'], style: Style): string {
  const { dead, deadAfterRecovery, succeeded, doneMs } = herd
  const outage = outageMs === 0 ? 'this burst' : `this outage of ${formatMs(outageMs)}`
  if (dead === 0) {
    const all = jobs === 1 ? 'The job survives' : `All ${many(jobs, 'job')} survive`
    return tinted(
      `${all} ${outage}; ${jobs === 1 ? 'it' : 'the last'} is done after ${formatMs(doneMs)}.`,
      'good',
      style,
    )
  }
  const early = dead - deadAfterRecovery
  const causes = [
    ...(early > 0 ? [`${countText(early)} run out of retries before it ends`] : []),
    ...(deadAfterRecovery > 0 ? [`${countText(deadAfterRecovery)} are rejected until they run out of retries`] : []),
  ]
  const toll = `${countText(dead)} of ${many(jobs, 'job')} die in ${outage}: ${causes.join(', ')}.`
  return tinted(`${toll} ${countText(succeeded)} succeed.`, 'bad', style)
}

function tinted(words: string, tone: Tone, style: Style): string {
  return `${paint(hang('', 0, words, narrowed(style)).trimEnd(), tone, style)}\n`
}

function charts({ withJitter, withoutJitter, policy, scenario }: Page, style: Style): string {
  const jittered = hasJitter(policy)
  const shown = jittered ? [withoutJitter, withJitter] : [withJitter]
  const chart = new HerdChart(frameOf(shown, scenario), style)
  const titles = jittered
    ? ['Without jitter', `With jitter ${jitterLabel(policy.jitter)}`]
    : ['Without jitter, as given']
  const drawn = shown.map((herd, i) => {
    const words = `: attempts per second, at most ${countText(herd.peakPerSecond)}/s after recovery`
    const title = hang(paint(titles[i]!, 'strong', style), titles[i]!.length, words, style)
    return title + chart.bars(herd.series)
  })
  return drawn.join('\n') + chart.times() + chart.legend()
}

const SPAN_MIN_MS = 10_000
/** An outage that ends soon after the last attempt is drawn to its end. */
const SOON = 1.5

function frameOf(herds: readonly SimulatedHerd[], { outageMs, capacityPerSecond }: Page['scenario']): Frame {
  const binMs = herds[0]!.series.binMs
  const doneMs = Math.max(SPAN_MIN_MS, ...herds.map(herd => herd.series.attempts.length * binMs))
  const top = Math.max(...herds.flatMap(({ series }) => series.peaks))
  return {
    outageMs,
    spanMs: outageMs > doneMs && outageMs < doneMs * SOON ? outageMs : doneMs,
    capacityPerSecond: capacityPerSecond ?? Number.POSITIVE_INFINITY,
    topPerSecond: roundUp(top),
  }
}

function figures({ withJitter, withoutJitter, policy, scenario }: Page, style: Style): string {
  const jittered = hasJitter(policy)
  const row = (title: string, value: (herd: SimulatedHerd) => string): Cell[] => [
    title,
    ...(jittered ? [value(withoutJitter)] : []),
    { text: value(withJitter), tone: 'strong' },
  ]
  const columns = [
    { title: '' },
    ...(jittered ? [{ title: 'Without jitter', align: 'right' } as const] : []),
    { title: jittered ? `With ${jitterLabel(policy.jitter)}` : 'As given', align: 'right' } as const,
  ]
  const rows = [
    row('Outage survived', herd => formatMs(herd.outageSurvivedMs)),
    row('Peak after recovery', herd => `${countText(herd.peakPerSecond)}/s`),
    row('Dead', herd => countText(herd.dead)),
    row('Rejected', herd => countText(herd.turnedAway)),
    row('Attempts', herd => countText(herd.attempts)),
    row('Amplification', herd => `${herd.amplification.toFixed(2)}×`),
    row('Done after', herd => formatMs(herd.doneMs)),
    ...(scenario.limit || scenario.partitions
      ? [row('Longest wait for a limit', herd => formatMs(herd.longestWaitMs))]
      : []),
    ...(withJitter.waves.length > 1 ? [row('First retries', firstWave)] : []),
  ]
  return spelledTable(columns, rows, style)
}

/** The first retries show best whether jitter spreads the load. */
function firstWave({ waves }: SimulatedHerd): string {
  const wave = waves[1]
  if (wave === undefined) return '–'
  const { fromMs, toMs } = wave
  return fromMs === toMs ? `all at ${formatMs(fromMs)}` : `${formatMs(fromMs)} … ${formatMs(toMs)}`
}

function judgementLine({ assertion, words }: Judgement, style: Style): string {
  return `${paint(`${style.unicode ? '✓' : '+'} ${assertion}`, 'good', style)} holds: ${words}\n`
}
