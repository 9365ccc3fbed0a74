import { toMs } from '../../../core/values/duration.js'
import { systemClock } from '../../../engine/time/system.js'
import { withBackend } from '../../backend/backend.js'
import type { BackendOptions } from '../../backend/store-address.js'
import { usage } from '../../exit.js'
import type { Io } from '../../io.js'
import { show } from '../../output/show.js'
import { frame } from './frame.js'
import { look, Top } from './screen.js'

interface TopFlags extends BackendOptions {
  readonly interval?: string
  readonly once?: true
}

const ONCE_ROWS = 40

export async function showTop(flags: TopFlags, io: Io): Promise<void> {
  const everyMs = toMs(flags.interval ?? '2s', '--interval', { min: 200, max: 3_600_000 })
  const { terminal, stdout: output, env } = io
  if (flags.once || flags.json) return showOnce(flags, io)
  if (!terminal) {
    throw usage('top: not a terminal; use --once to print one frame, or --json')
  }
  await withBackend(flags, io, backend =>
    new Top({ backend, terminal, output, env, clock: systemClock, everyMs }).run(io.interrupted),
  )
}

async function showOnce(flags: TopFlags, io: Io): Promise<void> {
  await withBackend(flags, io, async backend => {
    const snapshot = await look(backend)
    const view = { rows: ONCE_ROWS, isPaused: false, everyMs: 0, hasKeys: false }
    show(io, flags, snapshot, style => `${frame(snapshot, view, style).join('\n')}\n`)
  })
}
