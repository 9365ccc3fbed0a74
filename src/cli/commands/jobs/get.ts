import type { AttemptView, JobView } from '../../../core/job/view.js'
import { policyWords } from '../../../core/policy/words.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { absolute, relative } from '../../output/moment.js'
import { paint, type Style } from '../../output/print.js'
import { block, labelled, show, valueText } from '../../output/show.js'
import { spelled } from '../policy/words.js'
import { attemptTable } from './history.js'
import { found, standing, title } from './job.js'
import { errorText } from './note.js'

interface GetOptions extends BackendOptions {
  readonly stack?: true
}

const ATTEMPTS_SHOWN = 10

export async function getJob(id: string, options: GetOptions, io: Io): Promise<void> {
  await withBackend(options, io, async backend => {
    const job = await found(backend, id)
    const [{ data: attempts, page }, { now }] = await Promise.all([
      backend.byId.history(job.id, { limit: ATTEMPTS_SHOWN }),
      backend.info(),
    ])
    show(io, options, { ...job, attempts }, style => {
      const more = page.next === undefined ? '' : `All runs: chronos jobs history ${job.id}\n`
      return [
        title(job, style),
        ...(job.kind === 'job'
          ? [facts(job, now, style), content(job, options, style)]
          : [standing(job, now, style), content({ ...job.occurrence, payload: job.payload }, options, style)]),
        attemptList(attempts, now, style),
        more,
      ].join('')
    })
  })
}

const LABEL_COLUMNS = 9

function facts(job: JobView, now: number, style: Style): string {
  const when = (at: string): string => `${absolute(at)} (${relative(at, now)})`
  const rows: readonly (readonly [label: string, words: string | undefined])[] = [
    ['queue', `${job.queue}, priority ${job.priority}`],
    ['delivery', job.delivery.replaceAll('-', ' ')],
    ['policy', job.delivery === 'at-most-once' ? 'never retried' : spelled(policyWords(job.retry), style)],
    ['created', when(job.createdAt)],
    ['started', job.startedAt && when(job.startedAt)],
    ['locked', job.lockedBy && job.lockedUntil && `by ${job.lockedBy} until ${when(job.lockedUntil)}`],
    ['due', job.state === 'waiting' ? when(job.runAt) : undefined],
    ['ended', job.finishedAt && when(job.finishedAt)],
    ['key', job.key],
    ['tenant', job.tenantId],
    ['tags', job.tags.length > 0 ? job.tags.join(', ') : undefined],
    ['schedule', job.scheduleId],
    ['progress', job.progress === undefined ? undefined : JSON.stringify(job.progress)],
    ['retried', job.generation > 1 ? `manually or by a redrive; generation ${job.generation}` : undefined],
  ]
  return `${standing(job, now, style)}\n${labelled(rows, LABEL_COLUMNS, style)}`
}

function content(
  { payload, result, error }: Pick<JobView, 'payload' | 'result' | 'error'>,
  { stack }: GetOptions,
  style: Style,
): string {
  const part = (name: string, text: string): string => `\n${paint(name, 'strong', style)}\n${block(text, '  ')}`
  const room = style.columns - 2
  return [
    part('Payload', valueText(payload, room)),
    result === undefined ? '' : part('Result', valueText(result, room)),
    error ? part('Last error', (stack && error.stack) || errorText(error)) : '',
  ].join('')
}

function attemptList(attempts: readonly AttemptView[], now: number, style: Style): string {
  if (attempts.length === 0) return ''
  return `\n${paint('Attempts', 'strong', style)}, newest first\n${attemptTable(attempts, now, style)}`
}
