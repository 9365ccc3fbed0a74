import chronosJobs = require('chronos-jobs')

import { postgres } from 'chronos-jobs/postgres'
import { createServer } from 'chronos-jobs/server'
import { sqlite } from 'chronos-jobs/sqlite'
import type { Store } from 'chronos-jobs/store'
import { conformance } from 'chronos-jobs/store/conformance'
import { testChronos } from 'chronos-jobs/testing'

const charge = chronosJobs.defineJob({
  name: 'charge',
  retry: chronosJobs.fixed({ delay: '1m', maxRetries: 3 }),
  run: async (order: { readonly id: string }) => ({ receipt: order.id }),
})
const store: Store = sqlite('./chronos.db')
const chronos = chronosJobs.createChronos({ store })
export const receipt = async (id: string): Promise<string | undefined> =>
  (await chronos.jobs.get(charge, id))?.result?.receipt
export const values = [postgres, createServer, conformance, testChronos]
// @ts-expect-error an order has an id
chronos.enqueue(charge, { cents: 1 })
