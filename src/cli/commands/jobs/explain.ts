import type { Explanation } from '../../../core/job/explain.js'
import type { Io } from '../../io.js'
import type { TargetOptions } from '../../place.js'
import { paint, type Style } from '../../print.js'
import { hang, show } from '../../show.js'
import { withTarget } from '../../target.js'
import { padEnd } from '../../width.js'
import { spelled } from '../policy/words.js'
import { found, title } from './job.js'

export interface ExplainOptions extends TargetOptions {
  readonly json?: true
}

export async function explainJob(id: string, options: ExplainOptions, io: Io): Promise<void> {
  await withTarget(options, io, async target => {
    const job = await found(target, id)
    const explanation = await target.jobs.explain(job.id)
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
