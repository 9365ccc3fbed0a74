import { present } from '../../../core/values/present.js'
import { withBackend } from '../../backend/backend.js'
import type { Io } from '../../io.js'
import { many, show } from '../../output/show.js'
import { unconfirmed } from '../jobs/filter.js'
import { type ChoiceOptions, checkDead, choiceOf } from './choice.js'
import { deadTable } from './list.js'

const DONE = { acknowledge: 'acknowledged', discard: 'discarded' } as const
const SAMPLE = 5

export function acknowledgeDead(ids: readonly string[], options: ChoiceOptions, io: Io): Promise<void> {
  return settleDead('acknowledge', ids, options, io)
}

export function discardDead(ids: readonly string[], options: ChoiceOptions, io: Io): Promise<void> {
  return settleDead('discard', ids, options, io)
}

/** Only counts the jobs of a filter unless `--yes` is given. */
async function settleDead(
  name: keyof typeof DONE,
  ids: readonly string[],
  options: ChoiceOptions,
  io: Io,
): Promise<void> {
  const query = choiceOf(name, ids, options)
  const done = DONE[name]
  await withBackend(options, io, async backend => {
    const { dead } = backend
    await checkDead(name, ids, backend)
    if (options.dryRun || (ids.length === 0 && !options.yes)) {
      const result = await dead[name](query, { dryRun: true })
      const words = `${many(result.matched, 'dead job')} would be ${done}`
      if (!options.dryRun && result.matched > 0)
        throw unconfirmed(`dead ${name}: ${words}`, { value: result.matched, relation: 'exact' })
      const unseen = name === 'acknowledge' ? { acknowledged: false } : {}
      const [{ data }, { now }] = await Promise.all([
        dead.list({ ...unseen, ...query }, { limit: SAMPLE }),
        backend.info(),
      ])
      show(io, options, { action: name, ...result, sample: data }, style =>
        result.matched === 0 ? '' : deadTable(data, now, style),
      )
      if (!options.json) io.stderr.write(`${words}; nothing was changed\n`)
      return
    }
    const result = await dead[name](query, present({ atMost: options.atMost }))
    show(io, options, { action: name, ...result }, () => `${many(result.changed, 'dead job')} ${done}\n`)
  })
}
