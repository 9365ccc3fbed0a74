import { count, listSchema, paging, text, time } from './words.js'
import { z } from './zod.js'

export const workerSchema = z
  .object({
    id: z.string(),
    kind: z
      .enum(['pull'])
      .optional()
      .openapi({ description: 'pull: the worker claims jobs with `POST /leases:claim`.' }),
    host: z.string(),
    pid: z.number().int(),
    queues: z.array(z.string()),
    names: z.array(z.string()).openapi({ description: 'The names of the jobs that it has handlers for; `*` for all.' }),
    concurrency: count,
    running: count,
    state: z.enum(['alive', 'silent']),
    startedAt: time,
    seenAt: time,
  })
  .openapi('Worker')

export const workerList = listSchema(workerSchema, 'WorkerList')

const entrySchema = z
  .object({
    id: z.string(),
    at: time,
    actor: z.string(),
    role: z.string(),
    tenantId: z.string().optional(),
    action: z.string().openapi({ example: 'POST /jobs/{id}/cancel' }),
    target: z.string().optional(),
    requestId: z.string().optional(),
    count: count.optional().openapi({ description: 'The number of changes of a bulk action, or within one second.' }),
    facts: z.record(z.string(), z.unknown()).optional(),
  })
  .openapi('AuditLogEntry')

export const auditLogQuery = z.strictObject({ tenantId: text.optional(), ...paging })
export const auditLogList = listSchema(entrySchema, 'AuditLog')

export const systemSchema = z
  .object({
    version: z.string(),
    node: z.string(),
    now: time.openapi({ description: 'The time of the store.' }),
    startedAt: time,
    uptimeMs: count,
    store: z.object({
      kind: z.enum(['memory', 'sqlite', 'postgres']),
      engine: z.string().openapi({ example: 'SQLite 3.53.0' }),
      location: z.string(),
      schemaVersion: count,
      durability: z.enum(['none', 'process-crash', 'power-loss']),
      promise: z.string().openapi({ description: 'The durability in words.' }),
    }),
    workers: count.openapi({ description: 'Workers in this process.' }),
    maintenance: z.boolean().openapi({ description: 'Whether sweeper, scheduler and the other loops run here.' }),
    events: z.object({ listeners: count, maxListeners: count }),
    ready: z.boolean(),
    checks: z.array(z.object({ name: z.string(), isOk: z.boolean(), detail: z.string() })),
    settings: z.object({
      basePath: z.string(),
      authRequired: z.boolean(),
      readOnly: z.boolean(),
      allowedHosts: z.array(z.string()),
      maxBodyBytes: count,
      requestTimeoutMs: count,
      closeTimeoutMs: count,
      env: z.object({ name: z.string(), color: z.string().optional() }).optional(),
    }),
  })
  .openapi('System')

export const integritySchema = z
  .object({
    isSound: z.boolean().openapi({ description: 'Every job is accounted for.' }),
    at: time,
    queues: z.array(
      z
        .object({
          queue: z.string(),
          enqueued: count,
          removed: count.openapi({ description: 'Pruned or deleted.' }),
          rows: z.object({ waiting: count, running: count, succeeded: count, dead: count, cancelled: count }),
          isBalanced: z.boolean(),
          problem: z.string().optional(),
          jobId: z.string().optional(),
        })
        .openapi('QueueBalance'),
    ),
    findings: z.array(
      z
        .object({
          jobId: z.string(),
          what: z.enum(['success-runs', 'run-gap', 'lease-expired', 'orphan-attempts']),
          detail: z.string(),
        })
        .openapi('IntegrityFinding'),
    ),
  })
  .openapi('IntegrityReport')
