import { afterAll, describe, expect, it } from 'vitest'
import { Chronos } from '../../../../src/engine/client/chronos.js'
import { defineJob } from '../../../../src/engine/client/definition.js'
import { systemClock, systemDice } from '../../../../src/engine/time/system.js'
import { postgresStore } from '../../../../src/store/postgres/store.js'
import { dropSchemas, freshSchema, postgresUrl } from '../../../support/postgres.js'

afterAll(dropSchemas)

describe('schedulers on PostgreSQL', () => {
  it('create one job per occurrence, at its time, with two processes', async () => {
    const [url, schema] = [await postgresUrl(), freshSchema()]
    const ended: string[] = []
    let enough = (): void => undefined
    const heard = new Promise<void>(resolve => {
      enough = resolve
    })
    const job = defineJob({
      name: 'every-second',
      run(_payload: undefined, { key }) {
        ended.push(key)
        if (ended.length === 40) enough()
      },
    })
    const begin = (): Chronos => {
      const open = async () => postgresStore({ url, schema, clock: systemClock, dice: systemDice })
      const chronos = new Chronos(open, systemClock, systemDice, { log: false })
      chronos.work([job], { signals: false })
      return chronos
    }
    const processes = [begin(), begin()]
    for (let n = 0; n < 10; n++) {
      await processes[n % 2]!.schedules.put(`s${n}`, { cron: '* * * * * *', overlap: 'allow', job })
    }
    await heard
    for (let n = 0; n < 10; n++) await processes[n % 2]!.schedules.pause(`s${n}`)
    const views = (await processes[0]!.schedules.list()).data
    const { data } = await processes[1]!.jobs.list({ name: 'every-second' }, { limit: 200 })
    expect(new Set(data.map(({ key }) => key)).size).toBe(data.length)
    expect(views.reduce((sum, { fired }) => sum + fired, 0)).toBe(data.length)
    expect(views.map(({ missedCount, skipped }) => missedCount + skipped)).toEqual(Array(10).fill(0))
    for (const view of views) {
      const times = data.filter(({ scheduleId }) => scheduleId === view.id).map(({ runAt }) => Date.parse(runAt))
      // The jobs cover every second from the first to the last, each of them once.
      expect(times.map(at => at - times.at(-1)!)).toEqual(times.map((_, n) => (times.length - 1 - n) * 1_000))
    }
    for (const chronos of processes) await chronos.close()
  })
})
