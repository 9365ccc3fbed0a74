import { systemClock } from '../../../engine/time/system.js'
import type { Listening } from '../../../server.js'
import { logOf } from '../../backend/direct.js'
import { type Config, type Flags, loadConfig } from '../../config/load.js'
import type { Settings } from '../../config/settings.js'
import type { Io } from '../../io.js'
import { styleOf } from '../../output/print.js'
import { loadDefinitions } from '../../service/definitions.js'
import { queuesOf, Service } from '../../service/service.js'
import { started, untilInterrupted } from '../../service/until.js'
import { banner } from './banner.js'
import { openInBrowser } from './browser.js'
import { Demo } from './demo/demo.js'
import { Echo } from './echo.js'
import { QueueWatcher } from './queue-watcher.js'

interface DevFlags extends Flags {
  readonly demo?: true
  readonly open?: true
}

const DEMO_STORE = 'sqlite:./chronos-demo.db'

/** Listens on this machine only, whatever the configuration says. */
export async function runDev(flags: DevFlags, io: Io): Promise<void> {
  const config = await configFor(flags, io)
  const { settings } = config
  const demo = flags.demo ? new Demo(systemClock) : undefined
  const own = await loadDefinitions(settings.jobs, io.folder ?? process.cwd())
  const definitions = [...own, ...(demo?.definitions ?? [])]
  const echo = new Echo(systemClock)
  const service = await Service.open({
    config,
    log: await logOf(settings),
    server: true,
    definitions,
    egressAllow: ['loopback'],
    extra: request => echo.answer(request),
  })
  const watcher = new QueueWatcher(service, definitions, queuesOf(definitions, settings), systemClock)
  const listening = await started(service, () => begin(service, io))
  await demo?.begin(service.chronos, listening.url)
  watcher.begin()
  if (flags.open) openInBrowser(listening.url)
  try {
    await untilInterrupted(service, io, async () => {
      watcher.end()
      demo?.end()
    })
  } finally {
    watcher.end()
  }
}

async function begin(service: Service, io: Io): Promise<Listening> {
  const info = await service.chronos.info()
  const listening = (await service.start())!
  io.stdout.write(banner(listening.url, info, io.env, styleOf(io.stdout, io.env)))
  return listening
}

async function configFor(flags: DevFlags, io: Io): Promise<Config> {
  const { settings, ...rest } = await loadConfig({ ...flags, host: '127.0.0.1' }, io)
  // No token is needed on this machine, so that the commands of the banner work as they are.
  const open = { ...settings, token: undefined, viewerToken: undefined }
  return { ...rest, settings: flags.demo ? forDemo(open, rest.sources) : open }
}

/** Settings of the demo, unless the user has set them. */
function forDemo(settings: Settings, sources: Config['sources']): Settings {
  const unless = <T>(name: keyof Settings, value: T): object =>
    sources[name].level === 'default' ? { [name]: value } : {}
  return {
    ...settings,
    ...unless('store', DEMO_STORE),
    // Jobs fail on purpose all the time; the dashboard shows it better than a log.
    ...unless('logLevel', 'silent'),
    // The demo may run for days.
    ...unless('retention.succeeded', '1h'),
    ...unless('retention.cancelled', '1h'),
    ...unless('retention.dead', '6h'),
  }
}
