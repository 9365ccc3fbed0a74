import type { Alert } from '../../core/alert/alert.js'
import { type AlertRule, parseRules, type RulesInput } from '../../core/alert/rules.js'
import type { Silence } from '../../core/alert/silence.js'
import { ChronosError } from '../../core/values/error.js'
import type { StoredRecord } from '../../store/record.js'
import type { Store } from '../../store/store.js'
import type { Log } from '../client/log.js'

export const ALERT = 'alert'
export const SILENCE = 'silence'
/** What was set while everything runs, over what the code says. */
export const RULES = { kind: 'alert-rules', id: 'all' } as const

/** More than anybody could read; what is beyond is not raised until others are over. */
export const ALERTS_MAX = 1_000
export const SILENCES_MAX = 1_000

export interface Stored<Body> {
  readonly body: Body
  readonly version: number
}

/** Empty where somebody damaged it by hand: the others must go on. */
export function bodyOf<Body>({ body }: Pick<StoredRecord, 'body'>): readonly Body[] {
  try {
    return [JSON.parse(body) as Body]
  } catch {
    return []
  }
}

export async function storedAlerts(store: Store): Promise<ReadonlyMap<string, Stored<Alert>>> {
  const records = await store.records(ALERT, { limit: ALERTS_MAX })
  return new Map(
    records.flatMap(record => bodyOf<Alert>(record).map(body => [record.id, { version: record.version, body }])),
  )
}

export async function storedSilences(store: Store): Promise<readonly Silence[]> {
  const records = await store.records(SILENCE, { limit: SILENCES_MAX })
  return records.flatMap(bodyOf<Silence>)
}

export async function storedSettings(store: Store): Promise<Stored<RulesInput>> {
  const [record] = await store.records(RULES.kind, { ids: [RULES.id] })
  return record ? { version: record.version, body: JSON.parse(record.body) as RulesInput } : { version: 0, body: {} }
}

/** Stored > code > default. What a newer version wrote and this one can't read counts for nothing here. */
export async function rulesNow(store: Store, base: readonly AlertRule[], log: Log): Promise<readonly AlertRule[]> {
  const { body } = await storedSettings(store)
  try {
    return parseRules(body, 'alerts.rules', base)
  } catch (error) {
    if (!(error instanceof ChronosError)) throw error
    log.warn({ event: 'alerts.unreadable', err: error }, 'the stored rules of alerts can not be read')
    return base
  }
}
