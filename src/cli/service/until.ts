import type { ChronosError } from '../../core/values/error.js'
import { usage } from '../exit.js'
import type { Io } from '../io.js'
import type { Service } from './service.js'

/**
 * Waits for a signal, or until its workers were drained, then runs `first` and stops the service gracefully. A second
 * signal ends the process at once.
 */
export async function untilInterrupted(
  service: Service,
  { interrupted, stderr }: Io,
  first: () => Promise<void> = async () => undefined,
): Promise<void> {
  const why = await new Promise<string>(resolve => {
    const stop = (): void => resolve('waiting for running jobs; press Ctrl-C again to stop at once')
    if (interrupted.aborted) stop()
    else interrupted.addEventListener('abort', stop, { once: true })
    service.chronos.on('worker.drained', () => {
      if (service.chronos.here().workers === 0) resolve('its worker was drained')
    })
  })
  stderr.write(`stopping: ${why}\n`)
  await first()
  await service.stop()
}

/** Closes the service if it fails to start. */
export async function started<T>(service: Service, start: () => Promise<T>): Promise<T> {
  try {
    return await start()
  } catch (error) {
    await service.stop().catch(() => undefined)
    throw error
  }
}

export function noJobs(command: string): ChronosError {
  return usage(
    `${command}: no job definitions; give --jobs ./jobs.js, CHRONOS_JOBS, or \`jobs\` in chronos.config.json`,
  )
}
