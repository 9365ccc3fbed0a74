import { timeText } from '../../core/job/view.js'
import { ChronosError, shown } from '../../core/values/error.js'
import { present } from '../../core/values/present.js'
import { about, anyText, type Infer, literal, named, read, text } from '../../core/values/schema.js'
import { listOf, union, view } from '../../core/values/shape.js'
import { timestamp } from '../../core/values/time.js'
import { groupId } from '../../store/fold.js'
import type { Environment } from '../client/environment.js'
import { Records, type RecordsEnvironment } from '../records/records.js'

/** What people wrote about an error: who looks after it, and notes. It stays when the group is pruned and seen again. */
export const ERROR_NOTES = 'error-notes'
const NOTES_MAX = 50

export const noteText = about(text(4_000), { label: 'Note' })
export const assignee = union(about(text(100), { label: 'Assignee' }), literal(null))

export const errorNote = named(
  'ErrorNote',
  view({ id: anyText, at: timestamp, text: anyText }, { by: about(anyText, 'Who wrote it, through a server.') }),
)
type ErrorNote = Infer<typeof errorNote>

export const errorNotes = view(
  {},
  { assignee: about(anyText, 'Who looks after the error.'), notes: about(listOf(errorNote), 'Oldest first.') },
)

export interface ErrorNotes {
  readonly fingerprint: string
  readonly tenantId?: string
  readonly assignee?: string
  readonly notes: readonly (Omit<ErrorNote, 'at'> & { readonly at: number })[]
  readonly updatedAt: number
}

/** An error: that of one tenant, or that of all. Each has notes of its own. */
export interface ErrorOf {
  readonly fingerprint: string
  readonly tenantId?: string | undefined
}

const idOf = ({ fingerprint, tenantId }: ErrorOf): string => groupId(fingerprint, tenantId)

/** The assignees and notes of errors. */
export class NotesOfErrors {
  readonly #env: Environment
  readonly #records: Records<ErrorNotes>

  constructor(env: Environment) {
    this.#env = env
    const options: { env: RecordsEnvironment } = { env }
    this.#records = new Records({ ...options, kind: ERROR_NOTES, name: id => `notes of error group ${shown(id)}` })
  }

  /** The views by the id of the group. */
  async views(errors: readonly ErrorOf[]): Promise<ReadonlyMap<string, Infer<typeof errorNotes>>> {
    const found = await this.#records.these(errors.map(idOf))
    return new Map(found.map(({ id, body }) => [id, viewNotes(body)]))
  }

  async view(error: ErrorOf): Promise<Infer<typeof errorNotes>> {
    return (await this.views([error])).get(idOf(error)) ?? {}
  }

  /** null removes the name. */
  assign(error: ErrorOf, name: string | null): Promise<unknown> {
    read(assignee, name, 'dead.assign: assignee')
    return this.#change(error, ({ assignee: _, ...rest }) => ({ ...rest, ...present({ assignee: name ?? undefined }) }))
  }

  add(error: ErrorOf, words: string, by: string | undefined): Promise<unknown> {
    read(noteText, words, 'dead.addNote: text')
    return this.#change(error, (old, now) => {
      if (old.notes.length >= NOTES_MAX) {
        throw new ChronosError('NOT_ALLOWED', `there are ${NOTES_MAX} notes already; remove one first`)
      }
      const note = { id: this.#env.dice.id(now), at: now, text: words, ...present({ by }) }
      return { ...old, notes: [...old.notes, note] }
    })
  }

  remove(error: ErrorOf, id: string): Promise<unknown> {
    return this.#change(error, old => {
      const notes = old.notes.filter(note => note.id !== id)
      if (notes.length < old.notes.length) return { ...old, notes }
      throw new ChronosError('NOT_FOUND', `there is no note ${shown(id)} of error group ${shown(error.fingerprint)}`)
    })
  }

  async #change(error: ErrorOf, change: (old: ErrorNotes, now: number) => ErrorNotes): Promise<void> {
    const { fingerprint, tenantId } = error
    await this.#records.change(idOf(error), async (old, store) => {
      const { now } = await store.info()
      const none: ErrorNotes = { fingerprint, ...present({ tenantId }), notes: [], updatedAt: now }
      return { ...change(old ?? none, now), updatedAt: now }
    })
  }
}

function viewNotes({ assignee: name, notes }: ErrorNotes): Infer<typeof errorNotes> {
  const all = notes.map(({ at, ...note }) => ({ ...note, at: timeText(at) }))
  return present({ assignee: name, notes: all.length > 0 ? all : undefined })
}
