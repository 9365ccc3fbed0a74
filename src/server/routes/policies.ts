import { partialPolicy, policy, policyInput } from '../../core/policy/form.js'
import { finding, lintPolicy } from '../../core/policy/lint.js'
import { mergePolicies, type Policy, type PolicyInput, parsePolicy } from '../../core/policy/policy.js'
import { GOOD_FOR, PRESETS, type PresetName } from '../../core/policy/presets.js'
import { preview, previewRow, typicalStarts } from '../../core/policy/preview.js'
import { outageSurvived } from '../../core/policy/survival.js'
import { crashWords } from '../../core/policy/words.js'
import { scenario, simulate, simulation } from '../../core/simulation/simulate.js'
import { ChronosError } from '../../core/values/error.js'
import { about, anyText, integer, named, number } from '../../core/values/schema.js'
import { listOf, nullable, object, view } from '../../core/values/shape.js'
import { type Answer, type Endpoint, endpoint, ok } from '../endpoint.js'

/** Jobs times runs: about a quarter of a second, during which no other request is answered. */
const RUNS_MAX = 80_000

/** Larger simulations would block the server; the command line and the browser run them with the same code. */
const SIMULATED_JOBS_MAX = 20_000
const RETRIES_MAX = 200

const policies = named(
  'Policies',
  view({
    presets: listOf(named('Preset', view({ name: anyText, goodFor: anyText, outageSurvivedMs: integer(), policy }))),
    queues: about(listOf(view({ queue: anyText, retry: partialPolicy })), 'Queues with a policy override.'),
  }),
)

const policyPreviewRequest = named('PolicyPreviewRequest', object({ policy: policyInput }), {
  example: { policy: { maxRetries: 5, jitter: 'full' } },
})
const policyPreview = named(
  'PolicyPreview',
  view({
    policy: about(policy, 'The complete policy, with defaults filled in.'),
    rows: listOf(
      named(
        'PreviewRow',
        view({
          ...previewRow.required,
          typicalMs: about(nullable(number()), 'The average start, measured from the first failure.'),
        }),
      ),
    ),
    outageSurvivedMs: about(
      nullable(integer()),
      'The longest outage after which 99 % of the jobs still have a run left.',
    ),
    crashes: about(anyText, 'Whether a run that is lost in a crash uses an attempt.'),
    findings: listOf(finding),
  }),
)

const simulationRequest = named(
  'SimulationRequest',
  object({
    policy: policyInput,
    scenario: named(
      'Scenario',
      object({ ...scenario.required, jobs: integer(1, SIMULATED_JOBS_MAX) }, scenario.optional),
    ),
  }),
  { example: { policy: 'standard', scenario: { jobs: 1000, outage: '5m', capacityPerSecond: 50 } } },
)

const presetsOnce = once(() =>
  (Object.keys(PRESETS) as PresetName[]).map(name => ({
    name,
    goodFor: GOOD_FOR[name],
    outageSurvivedMs: outageSurvived(PRESETS[name]),
    policy: PRESETS[name],
  })),
)

const list = endpoint({
  method: 'get',
  path: '/policies',
  summary: 'List presets and the policies of queues',
  role: 'viewer',
  tenants: 'none',
  answers: ok(policies, 'All policies'),
  async handle({ app }): Promise<Answer> {
    const queues = await app.chronos.queues.list()
    const own = queues.flatMap(({ name: queue, retry }) => (retry ? [{ queue, retry }] : []))
    return { body: { presets: presetsOnce(), queues: own } }
  },
})

const previewPolicy = endpoint({
  method: 'post',
  path: '/policies:preview',
  summary: 'Preview the retries of a policy',
  description: `Up to ${RETRIES_MAX} retries. Changes nothing.`,
  role: 'viewer',
  tenants: 'none',
  audit: 'none',
  body: policyPreviewRequest,
  answers: ok(policyPreview, 'Its delays, the longest outage that it survives, and warnings'),
  async handle({ body }): Promise<Answer> {
    const policy = policyOf(body.policy)
    const isCustom = policy.backoff.type === 'custom'
    const typical = typicalStarts(policy)
    const rows = preview(policy).map((row, index) => ({ ...row, typicalMs: isCustom ? null : typical[index]! }))
    const findings = lintPolicy(policy)
    const outageSurvivedMs = isCustom ? null : outageSurvived(policy)
    return { body: { policy, rows, outageSurvivedMs, crashes: crashWords(policy), findings } }
  },
})

const simulatePolicy = endpoint({
  method: 'post',
  path: '/policies:simulate',
  summary: 'Simulate an outage with a policy',
  description:
    `Up to ${SIMULATED_JOBS_MAX} jobs and ${RUNS_MAX} runs; \`chronos policy simulate\` takes more. ` +
    'The same seed gives the same result.',
  role: 'viewer',
  tenants: 'none',
  audit: 'none',
  body: simulationRequest,
  answers: ok(simulation, 'The result, with the jitter of the policy and without jitter'),
  async handle({ body }): Promise<Answer> {
    const policy = policyOf(body.policy)
    const { jobs } = body.scenario
    const runs = jobs * (policy.maxRetries + 1)
    if (runs > RUNS_MAX) {
      throw new ChronosError(
        'INVALID_OPTION',
        `scenario.jobs: ${jobs} jobs of up to ${policy.maxRetries + 1} runs each are more than ${RUNS_MAX} runs; ` +
          `simulate at most ${Math.floor(RUNS_MAX / (policy.maxRetries + 1))} jobs of this policy here, or use \`chronos policy simulate\``,
      )
    }
    return { body: simulate(policy, body.scenario) }
  },
})

function policyOf(given: unknown): Policy {
  const policy = mergePolicies(parsePolicy(given as PolicyInput, 'policy', { stored: true }))
  if (policy.maxRetries <= RETRIES_MAX) return policy
  throw new ChronosError(
    'INVALID_OPTION',
    `policy.maxRetries: the server accepts up to ${RETRIES_MAX} retries, got ${policy.maxRetries}; ` +
      '`chronos policy preview` accepts more',
  )
}

function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => {
    made ??= { value: make() }
    return made.value
  }
}

export const POLICIES: readonly Endpoint[] = [list, previewPolicy, simulatePolicy]
