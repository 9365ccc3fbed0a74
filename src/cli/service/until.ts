import { ChronosError } from '../../core/values/error.js'
import type { Io } from '../io.js'
import type { Service } from './service.js'

/** Lives until somebody wants it to stop, and then stops well, what `first` ends before all else. A second signal ends the process at once. */
export async function untilInterrupted(
  service: Service,
  { interrupted, stderr }: Io,
  first: () => Promise<void> = async () => undefined,
): Promise<void> {
  await new Promise<void>(resolve => {
    if (interrupted.aborted) resolve()
    else interrupted.addEventListener('abort', () => resolve(), { once: true })
  })
  stderr.write('stopping: running jobs may end; once more (Ctrl-C) stops at once\n')
  await first()
  await service.stop()
}

/** What is open is closed again when the start fails. */
export async function started<T>(service: Service, start: () => Promise<T>): Promise<T> {
  try {
    return await start()
  } catch (error) {
    await service.stop().catch(() => undefined)
    throw error
  }
}

export function noJobs(command: string): ChronosError {
  return new ChronosError(
    'INVALID_OPTION',
    `${command}: name the module with your jobs: --jobs ./jobs.js, CHRONOS_JOBS, or \`jobs\` in chronos.config.json`,
  )
}
