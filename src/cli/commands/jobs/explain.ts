import type { Explanation } from '../../../core/job/explain.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { paint, type Style } from '../../output/print.js'
import { hang, show } from '../../output/show.js'
import { padEnd } from '../../output/width.js'
import { spelled } from '../policy/words.js'
import { found, title } from './job.js'

export interface ExplainOptions extends BackendOptions {
  readonly json?: true
}

export async function explainJob(id: string, options: ExplainOptions, io: Io): Promise<void> {
  await withBackend(options, io, async backend => {
    const job = await found(backend, id)
    const explanation = await backend.jobs.explain(job.id)
    show(io, options, explanation, style => title(job, style) + explanationText(explanation, style))
  })
}

const LABEL_COLUMNS = 'waiting'.length

/** The sentence first, then what it rests on. */
export function explanationText({ summary, waiting, last, next, details }: Explanation, style: Style): string {
  const part = (label: string, words: string | undefined): string =>
    words === undefined
      ? ''
      : hang(
          `  ${paint(padEnd(label, LABEL_COLUMNS), 'dim', style)}  `,
          LABEL_COLUMNS + 4,
          spelled(words, style),
          style,
        )
  const bullet = style.unicode ? '·' : '-'
  return [
    hang('', 0, spelled(summary, style), style),
    '\n',
    // The sentence often says it already.
    part('waiting', waiting && !summary.includes(waiting.words) ? waiting.words : undefined),
    part('last', last?.words),
    part('next', next?.words),
    ...(details.length > 0 ? ['\n'] : []),
    ...details.map(detail => hang(`  ${bullet} `, 4, spelled(detail, style), style)),
  ].join('')
}
