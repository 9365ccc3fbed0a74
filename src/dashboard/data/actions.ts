import { signal } from '@preact/signals'
import type { Count } from '../../core/values/count.js'
import type { BulkResult } from '../../engine/jobs/bulk.js'
import { announce, type Toast, toast } from '../shell/toasts.js'
import type { Bulk, Filter } from './api.js'
import { count } from './format.js'
import { asProblem } from './http.js'

/** A confirmation before an action that can't be undone or affects many items. */
export interface Confirmation {
  /** `Delete 2,314 jobs?` */
  readonly title: string
  /** The effect: "Removes the jobs with their history. This can't be undone." */
  readonly effect: string
  /** The filter that selects the items: `queue:mail state:dead`. */
  readonly filter?: string
  /** The number of items; above 100 it must be typed. */
  readonly items?: number | Count
  /** The text of the button: `Delete job`. */
  readonly verb: string
  readonly tone?: 'danger' | 'normal'
}

interface Asked extends Confirmation {
  readonly answer: (isYes: boolean) => void
}

/** Above this number of items, the number must be typed. */
const TYPED_ABOVE = 100

export const asked = signal<Asked | undefined>(undefined)

export function confirm(confirmation: Confirmation): Promise<boolean> {
  asked.peek()?.answer(false)
  return new Promise(resolve => {
    asked.value = {
      ...confirmation,
      answer: isYes => {
        asked.value = undefined
        resolve(isYes)
      },
    }
  })
}

/** The text to type; undefined if a click is enough. */
export function typedFor({ items }: Confirmation): string | undefined {
  if (items === undefined) return undefined
  const value = typeof items === 'number' ? items : items.value
  return value > TYPED_ABOVE ? String(value) : undefined
}

export const itemsText = ({ items }: Confirmation): string | undefined =>
  items === undefined ? undefined : count(items)

/** What is said and done after an action. */
interface Reported<T> {
  readonly done: string | ((result: T) => string | Toast)
  readonly undo?: (result: T) => Promise<unknown>
  /** Refetches the data of the screen. */
  readonly after?: (result: T) => void
}

export interface Action<T> extends Reported<T> {
  readonly confirm?: Confirmation
  readonly run: () => Promise<T>
}

/** Confirms, runs and reports an action, and offers to undo it. Returns undefined if it was cancelled or failed. */
export async function act<T>(action: Action<T>): Promise<T | undefined> {
  if (action.confirm && !(await confirm(action.confirm))) return undefined
  try {
    return report(action, await action.run())
  } catch (error) {
    return reportProblem(error)
  }
}

/** An action on everything that a filter selects. */
export interface BulkAction {
  readonly call: Bulk
  readonly filter: Filter
  /** The confirmation for this number of items. */
  readonly ask: (items: number) => Confirmation
  /** Said if nothing matches. */
  readonly none: string
  readonly done: (result: BulkResult) => string
  readonly after?: () => void
}

/**
 * Confirms with the number that the server counts for exactly this filter, and allows no more than that. If more match
 * by then, nothing happens, and it asks again.
 */
export async function actOnAll(action: BulkAction, refused?: number): Promise<void> {
  const { call, filter, ask, none } = action
  try {
    const items = refused ?? (await call(filter, { dryRun: true })).matched
    if (items === 0) return void toast({ text: none, tone: 'ok' })
    const question = ask(items)
    const news = refused === undefined ? '' : 'More match now than you confirmed. '
    if (!(await confirm({ ...question, effect: `${news}${question.effect}` }))) return
    report(action, await call(filter, { atMost: items }))
  } catch (error) {
    const { code, details } = asProblem(error)
    if (code === 'TOO_MANY_MATCHES' && details) await actOnAll(action, details.matched)
    else reportProblem(error)
  }
}

function report<T>(action: Reported<T>, result: T): T {
  tell(action, result)
  action.after?.(result)
  return result
}

function reportProblem(error: unknown): undefined {
  const problem = asProblem(error)
  const id = problem.requestId === undefined ? '' : ` (request ${problem.requestId})`
  toast({ text: `${problem.detail}${id}`, tone: 'problem' })
  announce(problem.detail)
}

function tell<T>({ done, undo, after }: Reported<T>, result: T): void {
  const said = typeof done === 'string' ? done : done(result)
  const made: Toast = typeof said === 'string' ? { text: said, tone: 'ok' } : said
  announce(made.text)
  if (!undo) {
    toast(made)
    return
  }
  const dismiss = toast({
    ...made,
    undo: () => {
      dismiss()
      void act({
        run: () => undo(result),
        done: 'Undone',
        ...(after && { after: () => after(result) }),
      })
    },
  })
}
