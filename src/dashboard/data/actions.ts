import { signal } from '@preact/signals'
import { announce, type Toast, toast } from '../shell/toasts.js'
import { type CountLike, count } from './format.js'
import { asProblem } from './http.js'

/** What somebody is asked before something happens that can't be taken back, or happens to many. */
export interface Confirmation {
  /** `Delete 2,314 jobs?` */
  readonly title: string
  /** What happens: "They are removed with their history; this can't be undone." */
  readonly effect: string
  /** What it happens to, in words of the filter: `queue:mail state:dead`. */
  readonly filter?: string
  /** How many; above 100 the number has to be typed. */
  readonly items?: number | CountLike
  /** The word on the button: `Delete`. */
  readonly verb: string
  readonly tone?: 'danger' | 'normal'
}

interface Asked extends Confirmation {
  readonly answer: (isYes: boolean) => void
}

/** More than this are not done by one press. */
export const TYPED_ABOVE = 100

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

/** What has to be typed; undefined where a press is enough. */
export function typedFor({ items }: Confirmation): string | undefined {
  if (items === undefined) return undefined
  const value = typeof items === 'number' ? items : items.value
  return value > TYPED_ABOVE ? String(value) : undefined
}

export const itemsText = ({ items }: Confirmation): string | undefined =>
  items === undefined ? undefined : count(items)

export interface Action<T> {
  readonly confirm?: Confirmation
  readonly run: () => Promise<T>
  /** What to say once it is done. */
  readonly done: string | ((result: T) => string | Toast)
  /** How to take it back. */
  readonly undo?: (result: T) => Promise<unknown>
  /** Asks the screen's questions again. */
  readonly after?: (result: T) => void
}

const running = signal(0)
/** Something is under way: buttons may show it. */
export const isActing = running

/** Asks, does, tells, and offers to undo. Gives the result, or undefined where it was not to be, or failed. */
export async function act<T>(action: Action<T>): Promise<T | undefined> {
  if (action.confirm && !(await confirm(action.confirm))) return undefined
  running.value++
  try {
    const result = await action.run()
    tell(action, result)
    action.after?.(result)
    return result
  } catch (error) {
    const problem = asProblem(error)
    const id = problem.requestId === undefined ? '' : ` (request ${problem.requestId})`
    toast({ text: `${problem.detail}${id}`, tone: 'problem' })
    announce(problem.detail)
    return undefined
  } finally {
    running.value--
  }
}

function tell<T>({ done, undo, after }: Action<T>, result: T): void {
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
