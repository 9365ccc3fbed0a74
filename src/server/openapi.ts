import { OpenAPIRegistry, OpenApiGeneratorV31 } from '@asteasolutions/zod-to-openapi'
import type { Endpoint } from './endpoint.js'
import { problemSchema } from './schemas/problem.js'
import { z } from './schemas/zod.js'

const INTRODUCTION = `Durable jobs with retries.

Errors are \`application/problem+json\` (RFC 9457) with a stable \`code\`. Lists are paged by \`cursor\`; a page's \`page.next\` is
the cursor of the next one. Every POST that creates something honours \`Idempotency-Key\`. Times are RFC 3339 in UTC; durations
are strings with a unit (\`250ms\`, \`30s\`, \`5m\`, \`2h\`, \`7d\`).`

const TAGS: Readonly<Record<string, string>> = {
  jobs: 'Create, inspect, change, cancel and retry jobs.',
  dead: 'Dead letters and error groups.',
  redrives: 'Retry dead jobs at a limited rate.',
  schedules: 'Create jobs at fixed times or intervals.',
  queues: 'Pause queues, set their policies and forecast their load.',
  webhooks: 'Webhook endpoints and deliveries.',
  policies: 'Preview and simulate retry policies.',
  circuits: 'Circuit breakers and retry budgets of dependencies.',
  alerts: 'Alerts, their rules and silences.',
  leases: 'Pull workers in any language.',
  events: 'A stream of changes.',
  access: 'Sessions and API tokens.',
  operations: 'Workers, statistics, the audit log and the system.',
}

const HEADERS = {
  'X-Request-Id': { description: 'The id of this request in the logs.', schema: { type: 'string' as const } },
}

/** The OpenAPI 3.1 document, generated from the schemas that validate requests. */
export function openApiDocument(endpoints: readonly Endpoint[], basePath: string): object {
  const registry = new OpenAPIRegistry()
  registry.registerComponent('securitySchemes', 'token', {
    type: 'http',
    scheme: 'bearer',
    description: 'A token from `chronos tokens create`. On loopback a token is required as soon as one exists.',
  })
  registry.registerComponent('securitySchemes', 'session', {
    type: 'apiKey',
    in: 'cookie',
    name: 'chronos_session',
    description: 'The cookie that `POST /session` sets for the dashboard.',
  })
  for (const endpoint of endpoints) registry.registerPath(pathOf(endpoint))
  return new OpenApiGeneratorV31(registry.definitions).generateDocument({
    openapi: '3.1.0',
    info: {
      title: 'Chronos',
      version: '1',
      description: INTRODUCTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: `${basePath}/api/v1`, description: 'This server' }],
    security: [{ token: [] }, { session: [] }, {}],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
  })
}

function pathOf(endpoint: Endpoint): Parameters<OpenAPIRegistry['registerPath']>[0] {
  const { method, path, tag, summary, description, role, tenants, params, query, body, creates, answers } = endpoint
  const rights = `Role: ${role}. ${tenants === 'own' ? 'The token of a tenant sees only its own data.' : 'Not available to the token of a tenant.'}`
  return {
    method,
    path,
    operationId: operationId(endpoint),
    tags: [tag],
    summary,
    description: [description, rights].filter(text => text !== undefined).join('\n\n'),
    request: {
      ...(hasFields(params) && { params }),
      ...(hasFields(query) && { query }),
      ...(creates && {
        headers: z.object({
          'idempotency-key': z.string().max(200).optional().openapi({
            description: 'For 24 hours, the same key with the same body returns the first response.',
          }),
        }),
      }),
      ...(body && {
        body: { required: !body.safeParse({}).success, content: { 'application/json': { schema: body } } },
      }),
    },
    responses: {
      ...Object.fromEntries(
        Object.entries(answers).map(([status, { description: said, schema }]) => [
          status,
          { description: said, headers: HEADERS, ...(schema && { content: { [typeOf(endpoint)]: { schema } } }) },
        ]),
      ),
      '4XX': {
        description: 'The request was refused',
        content: { 'application/problem+json': { schema: problemSchema } },
      },
      '5XX': { description: 'The server failed', content: { 'application/problem+json': { schema: problemSchema } } },
    },
  }
}

const typeOf = ({ tag }: Endpoint): string => (tag === 'events' ? 'text/event-stream' : 'application/json')
const hasFields = (schema: z.ZodObject): boolean => Object.keys(schema.shape).length > 0

/** `post /jobs/{id}/run-now` → `postJobRunNow`, `post /jobs:cancel` → `postJobsCancel`: stable as long as the path is. */
export function operationId({ method, path }: Endpoint): string {
  // A path with an id names one item, so its noun is singular.
  const named = path.replaceAll(/s\/\{\w+\}/g, '')
  return (
    method +
    named
      .split(/[/:-]+/)
      .map(capital)
      .join('')
  )
}

const capital = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1)
