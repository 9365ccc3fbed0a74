import { timeText } from '../core/job/view.js'
import { SAVED_VIEWS_MAX, type SavedView, type SavedViewInput, savedViewInput } from '../core/saved-view/saved-view.js'
import type { Clock } from '../core/values/clock.js'
import { ChronosError, shown } from '../core/values/error.js'
import { hash64 } from '../core/values/hash.js'
import { present } from '../core/values/present.js'
import { read } from '../core/values/schema.js'
import { Records, type RecordsEnvironment } from '../engine/records/records.js'

const SAVED_VIEW = 'saved-view'

interface Keeper {
  readonly owner: string
  /** The views of a tenant are its own; without a tenant, they belong to the fleet. */
  readonly tenantId?: string
}

/** Filters of lists under a name, shared by everyone of a tenant, or of the fleet. */
export class SavedViews {
  readonly #clock: Clock
  readonly #records: Records<SavedView>

  constructor(env: RecordsEnvironment, clock: Clock) {
    this.#clock = clock
    this.#records = new Records<SavedView>({ env, kind: SAVED_VIEW, name: id => `saved view ${shown(id)}` })
  }

  /** By name. */
  async list(tenantId?: string): Promise<readonly SavedView[]> {
    const found = await this.#records.page({ limit: SAVED_VIEWS_MAX }, body => body.tenantId === tenantId)
    return found.map(({ body }) => body).sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  async create(asked: SavedViewInput, { owner, tenantId }: Keeper): Promise<SavedView> {
    const input = read(savedViewInput, asked, 'saved view:')
    const { name, screen } = input
    // The name is part of the id, so that of two people who save the same name at once one is told.
    const id = hash64(JSON.stringify([tenantId ?? null, screen, name]))
    if ((await this.list(tenantId)).length >= SAVED_VIEWS_MAX) {
      throw new ChronosError('NOT_ALLOWED', `there are ${SAVED_VIEWS_MAX} saved views; delete one of them first`)
    }
    const body: SavedView = present({ id, ...input, owner, tenantId, createdAt: timeText(this.#clock.now()) })
    if ((await this.#records.write(id, body, 0)) === undefined) {
      throw new ChronosError('NOT_ALLOWED', `there is already a saved view named ${shown(name)}; choose another name`)
    }
    return body
  }

  async delete(id: string, tenantId?: string): Promise<SavedView> {
    const found = await this.#records.find(id)
    if (!found || found.body.tenantId !== tenantId) {
      throw new ChronosError('NOT_FOUND', `there is no saved view ${shown(id)}`)
    }
    await this.#records.delete(id)
    return found.body
  }
}
