import { afterAll, expect, it } from 'vitest'
import { Chronos } from '../../../../src/engine/client/chronos.js'
import { defineJob } from '../../../../src/engine/client/definition.js'
import { systemClock, systemDice } from '../../../../src/engine/time/system.js'
import { PACE } from '../../../../src/engine/upkeep/maintenance.js'
import { dropSchemas, freshSchema, openStore } from '../../../support/postgres.js'

afterAll(dropSchemas)

it('four processes that check concurrently send one notification per alert, and one when it is resolved', async () => {
  const schema = freshSchema()
  const bad = defineJob({
    name: 'bad',
    retry: { maxRetries: 0 },
    run() {
      throw new Error('no')
    },
  })
  const heard: string[] = []
  const subjects: string[] = []
  let onNews = (): void => undefined
  const notified = async (count: number): Promise<void> => {
    while (heard.length < count || subjects.length < count) {
      await new Promise<void>(resolve => {
        onNews = resolve
      })
    }
  }
  const transport = {
    sendMail: async ({ subject }: { readonly subject: string }) => {
      subjects.push(subject.replace(/:.*/, ''))
      onNews()
    },
  }
  const alerts = {
    rules: { 'dead-letters': { for: '0s', keep: '0s' } },
    channels: { mail: { type: 'email', from: 'a@example.com', to: 'b@example.com', transport } },
  } as const
  const pace = { ...PACE, alertsMs: 20 }
  const processes = Array.from({ length: 4 }, () => {
    const chronos = new Chronos(() => openStore({ schema }), systemClock, systemDice, { log: false, alerts }, pace)
    for (const event of ['alert.firing', 'alert.resolved'] as const) {
      chronos.on(event, ({ alert }) => {
        heard.push(`${event} ${alert.rule}`)
        onNews()
      })
    }
    chronos.work([bad], { signals: false })
    return chronos
  })
  const [chronos] = processes
  await chronos!.enqueue(bad, undefined)
  await notified(1)
  await chronos!.dead.acknowledge({})
  await notified(2)
  await Promise.all(processes.map(each => each.close()))
  expect(heard).toEqual(['alert.firing dead-letters', 'alert.resolved dead-letters'])
  expect(subjects).toEqual(['[firing] dead-letters', '[resolved] dead-letters'])
})
