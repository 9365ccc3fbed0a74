import type { Database } from './pool.js'
import { channelOf, NOTIFY } from './wake.js'

/** `deaf`: what is told does not arrive, as through a pooler; `off`: nobody is to listen. */
export type Hearing = 'heard' | 'deaf' | 'off'

const PATIENCE_MS = 2_000

/** Listens on a connection as a worker would, and tells itself something by the pool, as another process would. */
export async function hearing(db: Database, url: string | undefined): Promise<Hearing> {
  const client = await db.client(url)
  // Workers take it for the check of another listener, and leave it alone.
  const word = `check:${db.dice.token()}`
  try {
    client.on('error', () => undefined)
    await client.connect()
    await client.query({ text: `LISTEN "${channelOf(db.schema)}"` })
    const heard = new Promise<Hearing>(resolve => {
      const timer = db.clock.timer(PATIENCE_MS, () => resolve('deaf'))
      client.on('notification', ({ payload }) => {
        if (payload !== word) return
        timer.cancel()
        resolve('heard')
      })
    })
    await db.hint({ sql: NOTIFY, values: [channelOf(db.schema), word] })
    return await heard
  } catch {
    return 'deaf'
  } finally {
    client.connection?.stream.destroy()
  }
}
