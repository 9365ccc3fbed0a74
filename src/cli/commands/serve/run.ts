import type { JobDefinition } from '../../../engine/client/definition.js'
import { logOf } from '../../backend/direct.js'
import { type Config, type Flags, loadConfig } from '../../config/load.js'
import type { Io } from '../../io.js'
import { loadDefinitions } from '../../service/definitions.js'
import { queuesOf, Service } from '../../service/service.js'
import { started, untilInterrupted } from '../../service/until.js'

interface ServeFlags extends Flags {
  readonly withWorker?: true
}

export async function serve(flags: ServeFlags, io: Io): Promise<void> {
  const config = await loadConfig(flags, io)
  const definitions = await definitionsOf(flags, config, io)
  const service = await Service.open({ config, log: await logOf(config.settings), server: true, definitions })
  await started(service, async () => {
    const { url } = (await service.start())!
    const worker = definitions ? `, working on queues ${queuesOf(definitions, config.settings).join(', ')}` : ''
    io.stdout.write(`serving ${url}${worker}\n`)
  })
  await untilInterrupted(service, io)
}

/** `--jobs` implies `--with-worker`. */
async function definitionsOf(
  { withWorker, jobs }: ServeFlags,
  { settings }: Config,
  io: Io,
): Promise<readonly JobDefinition<never>[] | undefined> {
  if (!withWorker && jobs === undefined) return undefined
  return loadDefinitions(settings.jobs, io.folder ?? process.cwd())
}
