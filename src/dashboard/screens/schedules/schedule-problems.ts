import type { Problem } from '../../data/http.js'
import { sentence } from '../../parts/form/typed.js'

/** The errors of a refused draft by the name of the field. */
export function fieldProblems({ code, errors }: Pick<Problem, 'code' | 'errors'>): Readonly<Record<string, string>> {
  if (code === 'KEY_CONFLICT') return { id: 'A schedule with this id already exists' }
  return Object.fromEntries(
    errors.map(({ pointer, detail }) => [fieldOf(pointer.slice(1).split('/')), sentence(detail)]),
  )
}

/** `cron` is the field cron, `http.headers.x-id` the field headers. */
export function fieldOf([first = '', second = '']: readonly (string | number)[]): string {
  if (first === 'http') return `${second || 'url'}`
  if (first === 'missed') return second === 'all' ? 'missedMax' : 'missed'
  return first === 'job' ? 'name' : `${first}`
}
