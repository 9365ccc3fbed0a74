import type { Explanation } from '../../../core/job/explain.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import type { Style } from '../../output/print.js'
import { hang, labelled, show } from '../../output/show.js'
import { spelled } from '../policy/words.js'
import { found, title } from './job.js'

export async function explainJob(id: string, options: BackendOptions, io: Io): Promise<void> {
  await withBackend(options, io, async backend => {
    const job = await found(backend, id)
    const explanation = await backend.byId.explain(job.id)
    show(io, options, explanation, style => title(job, style) + explanationText(explanation, style))
  })
}

const LABEL_COLUMNS = 'waiting'.length

/** The summary first, then the facts behind it. */
export function explanationText({ summary, waiting, last, next, dies, details }: Explanation, style: Style): string {
  const part = (label: string, words: string | undefined): readonly [string, string | undefined] => [
    label,
    words && spelled(words, style),
  ]
  const bullet = style.unicode ? '·' : '-'
  return [
    hang('', 0, spelled(summary, style), style),
    '\n',
    labelled(
      [
        // The summary often contains it.
        part('waiting', waiting && !summary.includes(waiting.words) ? waiting.words : undefined),
        part('last', last?.words),
        part('next', next?.words),
        part('dies', dies?.words),
      ],
      LABEL_COLUMNS,
      style,
    ),
    ...(details.length > 0 ? ['\n'] : []),
    ...details.map(detail => hang(`  ${bullet} `, 4, spelled(detail, style), style)),
  ].join('')
}
