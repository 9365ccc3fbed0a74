import { ChronosError } from '../../../core/values/error.js'
import type { DeadQuery } from '../../../engine/dead/redrives.js'
import type { Backend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import { checkChoice, type DeadFilterOptions, deadQueryOf } from '../jobs/filter.js'
import { found } from '../jobs/job.js'

export interface ChoiceOptions extends BackendOptions, DeadFilterOptions {
  readonly all?: true
  readonly yes?: true
  readonly dryRun?: true
  readonly atMost?: number
}

/** The dead jobs that the ids or the filter select. */
export function choiceOf(name: string, ids: readonly string[], options: ChoiceOptions): DeadQuery {
  const query = deadQueryOf(options)
  checkChoice(`dead ${name}`, ids, query, options.all, '--group or --queue')
  return ids.length > 0 ? { ids: [...new Set(ids)] } : query
}

const IDS_AT_ONCE = 200

/** Fails if a job that was given by id does not exist or is not dead. */
export async function checkDead(name: string, ids: readonly string[], backend: Backend): Promise<void> {
  for (let from = 0; from < ids.length; from += IDS_AT_ONCE) {
    const asked = ids.slice(from, from + IDS_AT_ONCE)
    const { data } = await backend.dead.list({ ids: asked }, { limit: IDS_AT_ONCE })
    const dead = new Set(data.map(({ id }) => id))
    const odd = asked.find(id => !dead.has(id))
    if (odd === undefined) continue
    const { id, state } = await found(backend, odd)
    throw new ChronosError('NOT_ALLOWED', `dead ${name}: job ${id} is ${state}, not dead`, {
      details: { jobId: id, state },
    })
  }
}
