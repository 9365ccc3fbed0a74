import type { Alert } from '../../core/alert/alert.js'
import { type AlertRule, parseRules, type RulesInput } from '../../core/alert/settings.js'
import type { Silence } from '../../core/alert/silence.js'
import { ChronosError } from '../../core/values/error.js'
import type { Store } from '../../store/store.js'
import { bodyOf, Records, type RecordsEnvironment, type Stored } from '../records/records.js'

export const ALERT = 'alert'
export const SILENCE = 'silence'
/** Rules stored at run time, which take precedence over the code. */
export const RULES = { kind: 'alert-rules', id: 'all' } as const

/** Further alerts are not raised until others have ended. */
export const ALERTS_MAX = 1_000
export const SILENCES_MAX = 1_000

export async function storedAlerts(store: Store): Promise<ReadonlyMap<string, Stored<Alert>>> {
  const records = await store.records(ALERT, { limit: ALERTS_MAX })
  return new Map(
    records.flatMap(({ id, version, ...record }) =>
      bodyOf<Alert>(record).map((body): [string, Stored<Alert>] => [id, { id, version, body }]),
    ),
  )
}

export async function storedSilences(store: Store): Promise<readonly Silence[]> {
  const records = await store.records(SILENCE, { limit: SILENCES_MAX })
  return records.flatMap(bodyOf<Silence>)
}

export function ruleRecords(env: RecordsEnvironment): Records<RulesInput> {
  return new Records({ env, kind: RULES.kind, name: () => 'the set of alert rules' })
}

/** Stored > code > default. Settings of a newer version that this one can't read are ignored. */
export async function rulesNow(env: RecordsEnvironment, base: readonly AlertRule[]): Promise<readonly AlertRule[]> {
  const stored = await ruleRecords(env).find(RULES.id)
  try {
    return parseRules(stored?.body ?? {}, 'alerts.rules', base)
  } catch (error) {
    if (!(error instanceof ChronosError)) throw error
    env.log.warn(
      { event: 'alerts.unreadable', err: error },
      'failed to read the stored alert rules, using the configured ones',
    )
    return base
  }
}
