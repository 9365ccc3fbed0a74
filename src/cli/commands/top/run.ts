import { toMs } from '../../../core/values/duration.js'
import { ChronosError } from '../../../core/values/error.js'
import { systemClock } from '../../../engine/time/system.js'
import type { Io } from '../../io.js'
import type { TargetOptions } from '../../place.js'
import { show } from '../../show.js'
import { withTarget } from '../../target.js'
import { frame } from '../../top/frame.js'
import { look, Top } from '../../top/top.js'

interface TopFlags extends TargetOptions {
  readonly json?: true
  readonly interval?: string
  readonly once?: true
}

const ONCE_ROWS = 40

export async function showTop(flags: TopFlags, io: Io): Promise<void> {
  const everyMs = toMs(flags.interval ?? '2s', '--interval', { min: 200, max: 3_600_000 })
  const { terminal, stdout: output, env } = io
  if (flags.once || flags.json) return showOnce(flags, io)
  if (!terminal) {
    throw new ChronosError('INVALID_OPTION', 'top: this is no terminal; --once gives one picture, --json its facts')
  }
  await withTarget(flags, io, target =>
    new Top({ target, terminal, output, env, clock: systemClock, everyMs }).run(io.interrupted),
  )
}

async function showOnce(flags: TopFlags, io: Io): Promise<void> {
  await withTarget(flags, io, async target => {
    const snapshot = await look(target)
    const view = { rows: ONCE_ROWS, isPaused: false, everyMs: 0, hasKeys: false }
    show(io, flags, snapshot, style => `${frame(snapshot, view, style).join('\n')}\n`)
  })
}
