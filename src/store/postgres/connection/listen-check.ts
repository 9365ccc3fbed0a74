import type { Database } from './pool.js'
import { channelOf, NOTIFY } from './wake.js'

/** `deaf`: notifications do not arrive, as behind a pooler; `off`: LISTEN is turned off. */
export type ListenResult = 'heard' | 'deaf' | 'off'

const TIMEOUT_MS = 2_000

/** Listens on a connection like a worker, and sends a notification through the pool like another process. */
export async function listenCheck(db: Database, url: string | undefined): Promise<ListenResult> {
  const client = await db.client(url)
  // Workers ignore this payload, because it looks like the check of another listener.
  const word = `check:${db.dice.token()}`
  try {
    client.on('error', () => undefined)
    await client.connect()
    await client.query({ text: `LISTEN "${channelOf(db.schema)}"` })
    const heard = new Promise<ListenResult>(resolve => {
      const timer = db.clock.timer(TIMEOUT_MS, () => resolve('deaf'))
      client.on('notification', ({ payload }) => {
        if (payload !== word) return
        timer.cancel()
        resolve('heard')
      })
    })
    await db.sendBestEffort({ sql: NOTIFY, values: [channelOf(db.schema), word] })
    return await heard
  } catch {
    return 'deaf'
  } finally {
    client.connection?.stream.destroy()
  }
}
