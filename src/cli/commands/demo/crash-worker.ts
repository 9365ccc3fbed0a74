import { defineJob } from '../../../engine/client/definition.js'
import { createChronos } from '../../../index.js'
import { resizeImage, takes } from './jobs.js'

// A separate worker process, which the demo restarts whenever it dies.

const chronos = createChronos({ store: `sqlite:${process.argv[2]}`, log: false })

const job = defineJob({
  name: resizeImage.name,
  queue: resizeImage.options.queue,
  async run(_: unknown, context) {
    await takes(120, context)
    // Dies like a process that runs out of memory. No line after this one runs.
    process.kill(process.pid, 'SIGKILL')
    await takes(60_000, context)
  },
})

chronos.on('job.started', event => process.send?.(event))
chronos.work([job], { concurrency: 1, lease: '1s', poll: '50ms', maintenance: false, signals: false })

// It must not outlive the demo process.
process.on('disconnect', () => process.exit())
if (!process.connected) process.exit()
