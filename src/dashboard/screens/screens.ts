import type { Screen } from '../lazy.js'
import Alerts from './alerts/alerts.js'
import Dead from './dead/dead.js'
import ErrorGroup from './dead/error-group.js'
import Redrive from './dead/redrive.js'
import Redrives from './dead/redrives.js'
import Dependencies from './dependencies/dependencies.js'
import Incident from './incident/incident.js'
import JobScreen from './job/job.js'
import Jobs from './jobs/jobs.js'
import NewJob from './jobs/new-job.js'
import Name from './names/name.js'
import Names from './names/names.js'
import Overview from './overview/overview.js'
import Policies from './queues/policies.js'
import Queue from './queues/queue.js'
import Queues from './queues/queues.js'
import Schedule from './schedules/schedule.js'
import ScheduleEditor from './schedules/schedule-editor.js'
import Schedules from './schedules/schedules.js'
import AuditLog from './system/audit-log.js'
import System from './system/system.js'
import Tokens from './system/tokens.js'
import Worker from './system/worker.js'
import Workers from './system/workers.js'
import Webhook from './webhooks/webhook.js'
import Webhooks from './webhooks/webhooks.js'

/** Every screen by the name that its route uses. */
export const SCREENS: Readonly<Record<string, Screen>> = {
  overview: Overview,
  queues: Queues,
  queue: Queue,
  workers: Workers,
  worker: Worker,
  system: System,
  'audit-log': AuditLog,
  tokens: Tokens,
  names: Names,
  name: Name,
  jobs: Jobs,
  job: JobScreen,
  'new-job': NewJob,
  dead: Dead,
  'error-group': ErrorGroup,
  incident: Incident,
  redrives: Redrives,
  redrive: Redrive,
  schedules: Schedules,
  schedule: Schedule,
  'schedule-editor': ScheduleEditor,
  policies: Policies,
  webhooks: Webhooks,
  webhook: Webhook,
  dependencies: Dependencies,
  alerts: Alerts,
}
