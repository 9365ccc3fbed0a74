import { ALERT, RULES, SILENCE } from '../../../engine/alerts/records.js'
import { REDRIVE } from '../../../engine/dead/redriver.js'
import { DEPENDENCY } from '../../../engine/dependencies/dependencies.js'
import { LISTENER } from '../../../engine/listeners/listeners.js'
import { bodyOf } from '../../../engine/records/records.js'
import { SCHEDULE } from '../../../engine/schedules/schedule-cache.js'
import { WEBHOOK, WEBHOOK_SECRETS } from '../../../engine/webhooks/endpoints.js'
import { TOKEN } from '../../../server/access/tokens.js'
import { ERROR_GROUP } from '../../../store/fold.js'
import type { Store } from '../../../store/store.js'

/** What users set, and what they would miss. */
const KINDS = [
  SCHEDULE,
  LISTENER,
  WEBHOOK,
  WEBHOOK_SECRETS,
  TOKEN,
  REDRIVE,
  DEPENDENCY,
  ERROR_GROUP,
  ALERT,
  SILENCE,
  RULES.kind,
]
const BATCH = 1_000

/** The records that can't be read, and therefore count as absent: `schedule digest`. */
export async function damagedRecords(store: Store): Promise<readonly string[]> {
  const damaged: string[] = []
  for (const kind of KINDS) {
    for (let from = ''; ; ) {
      const records = await store.records(kind, { limit: BATCH, from })
      for (const record of records) if (bodyOf(record).length === 0) damaged.push(`${kind} ${record.id}`)
      if (records.length < BATCH) break
      from = `${records.at(-1)!.id}\u0001`
    }
  }
  return damaged
}
