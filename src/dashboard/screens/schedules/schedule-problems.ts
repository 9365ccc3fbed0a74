import type { Problem } from '../../data/http.js'

/** The errors of a refused draft by the name of the field. */
export function fieldProblems({ code, errors }: Pick<Problem, 'code' | 'errors'>): Readonly<Record<string, string>> {
  if (code === 'KEY_CONFLICT') return { id: 'A schedule with this id already exists' }
  return Object.fromEntries(errors.map(({ pointer, detail }) => [fieldOf(pointer), sentence(detail)]))
}

/** `/cron` is the field cron, `/http/headers/x-id` the field headers. */
function fieldOf(pointer: string): string {
  const [first = '', second = ''] = pointer.slice(1).split('/')
  if (first === 'http') return second || 'url'
  return pointer === '/missed/all' ? 'missedMax' : (FIELD_NAMES[first] ?? first)
}

const FIELD_NAMES: Readonly<Record<string, string>> = { job: 'name' }

/** The field already shows the value that an error begins with. */
function sentence(detail: string): string {
  const text = detail.replace(/^"[^"]*": /, '')
  return text.charAt(0).toUpperCase() + text.slice(1)
}
