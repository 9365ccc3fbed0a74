import { silentLog } from '../../../src/engine/client/log.js'
import { Egress, type EgressAnswer, type EgressRequest } from '../../../src/engine/egress/egress.js'
import { type EgressOptions, parseEgress } from '../../../src/engine/egress/rules.js'
import { systemClock } from '../../../src/engine/time/system.js'

export interface Sender {
  send(url: string, more?: Partial<EgressRequest>): Promise<EgressAnswer>
  /** What was written to the log. */
  readonly logged: readonly unknown[]
  [Symbol.asyncDispose](): Promise<void>
}

export function sender(options: EgressOptions = { allow: ['loopback'] }): Sender {
  const logged: unknown[] = []
  const log = { ...silentLog, warn: (line: unknown) => void logged.push(line) }
  const egress = new Egress({ clock: systemClock, log, rules: parseEgress(options) })
  return {
    send: (url, more) =>
      egress.send({ method: 'GET', url, headers: {}, timeoutMs: 5_000, bodyMaxBytes: 16_384, ...more }),
    logged,
    [Symbol.asyncDispose]: () => egress.close(),
  }
}

export const textOf = ({ body }: EgressAnswer): string => Buffer.from(body).toString()

/** What a promise was rejected with. */
export async function failureOf(promise: Promise<unknown>): Promise<Error & { code?: string }> {
  try {
    await promise
  } catch (error) {
    return error as Error
  }
  throw new Error('expected a failure')
}
