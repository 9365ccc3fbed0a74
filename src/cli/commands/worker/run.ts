import { logOf } from '../../backend/direct.js'
import { type Flags, loadConfig } from '../../config/load.js'
import type { Io } from '../../io.js'
import { many } from '../../output/show.js'
import { loadDefinitions } from '../../service/definitions.js'
import { queuesOf, Service } from '../../service/service.js'
import { noJobs, started, untilInterrupted } from '../../service/until.js'

export async function runWorker(flags: Flags, io: Io): Promise<void> {
  const config = await loadConfig(flags, io)
  const { settings } = config
  if (settings.jobs.length === 0) throw noJobs('worker')
  const definitions = await loadDefinitions(settings.jobs, io.folder ?? process.cwd())
  const service = await Service.open({ config, log: await logOf(settings), server: false, definitions })
  await started(service, async () => {
    const { location } = await service.chronos.info()
    await service.start()
    const queues = queuesOf(definitions, settings)
    const at = settings.concurrency === 1 ? 'one at a time' : `${settings.concurrency} at a time`
    io.stdout.write(`working on ${location}: ${many(definitions.length, 'job')}, queues ${queues.join(', ')}, ${at}\n`)
  })
  await untilInterrupted(service, io)
}
