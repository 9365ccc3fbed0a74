import type { Endpoint } from '../endpoint.js'
import { ALERTS } from './alerts.js'
import { CIRCUITS } from './circuits.js'
import { DEAD } from './dead.js'
import { EVENTS } from './events.js'
import { JOB_ACTIONS } from './job-actions.js'
import { JOBS } from './jobs.js'
import { LEASES } from './leases.js'
import { NAMES } from './names.js'
import { OPERATIONS } from './operations.js'
import { POLICIES } from './policies.js'
import { QUEUES } from './queues.js'
import { REDRIVES } from './redrives.js'
import { SCHEDULES } from './schedules.js'
import { SESSION } from './session.js'
import { TOKENS } from './tokens.js'
import { WEBHOOKS } from './webhooks.js'

/** Every endpoint of the API. */
export const ENDPOINTS: readonly Endpoint[] = [
  ...JOBS,
  ...JOB_ACTIONS,
  ...DEAD,
  ...REDRIVES,
  ...SCHEDULES,
  ...QUEUES,
  ...NAMES,
  ...WEBHOOKS,
  ...POLICIES,
  ...CIRCUITS,
  ...ALERTS,
  ...LEASES,
  ...OPERATIONS,
  ...TOKENS,
  ...SESSION,
  ...EVENTS,
]
