import { defineJob } from '../../../engine/client/definition.js'
import { createChronos } from '../../../index.js'
import { resizeImage, takes } from './jobs.js'

// A worker process of its own, started again by the demo whenever it dies.

const chronos = createChronos({ store: `sqlite:${process.argv[2]}`, log: false })

const job = defineJob({
  name: resizeImage.name,
  queue: resizeImage.options.queue,
  async run(_: unknown, context) {
    await takes(120, context)
    // What the kernel does to a process that takes all memory. Nothing after this line ever runs.
    process.kill(process.pid, 'SIGKILL')
    await takes(60_000, context)
  },
})

chronos.on('job.started', event => process.send?.(event))
chronos.work([job], { concurrency: 1, lease: '1s', poll: '50ms', maintenance: false, signals: false })

// It must not outlive the demo, however and whenever that ends.
process.on('disconnect', () => process.exit())
if (!process.connected) process.exit()
