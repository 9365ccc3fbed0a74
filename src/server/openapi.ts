import { OpenAPIRegistry, OpenApiGeneratorV31 } from '@asteasolutions/zod-to-openapi'
import type { Endpoint } from './endpoint.js'
import { problemSchema } from './schemas/problem.js'
import { z } from './schemas/zod.js'

const INTRODUCTION = `Durable jobs, and what happens when they fail.

Errors are \`application/problem+json\` (RFC 9457) with a stable \`code\`. Lists are paged by \`cursor\`; a page's \`page.next\` is
the cursor of the next one. Every POST that makes something honours \`Idempotency-Key\`. Times are RFC 3339 in UTC; durations
are texts with a unit (\`250ms\`, \`30s\`, \`5m\`, \`2h\`, \`7d\`).`

const TAGS: Readonly<Record<string, string>> = {
  jobs: 'Jobs: make them, look at them, set them right by hand.',
  dead: 'Dead letters, by the error that they died of.',
  redrives: 'Dead jobs on their way round again, at a rate.',
  schedules: 'Jobs that come again and again.',
  queues: 'Queues: pause them, give them a policy, see what comes.',
  webhooks: 'Who is told when something happens.',
  policies: 'Retry policies: what they do, before they do it.',
  circuits: 'Circuit breakers and budgets of what jobs depend on.',
  alerts: 'What needs a person.',
  leases: 'Workers in any language.',
  events: 'What changes, as it changes.',
  access: 'Who may come in.',
  operations: 'Workers, statistics, the audit log and the system.',
}

const HEADERS = {
  'X-Request-Id': { description: 'The name of this request in the logs.', schema: { type: 'string' as const } },
}

/** The OpenAPI 3.1 document, made of the very schemas that check requests. */
export function openApiDocument(endpoints: readonly Endpoint[], basePath: string): object {
  const registry = new OpenAPIRegistry()
  registry.registerComponent('securitySchemes', 'token', {
    type: 'http',
    scheme: 'bearer',
    description: 'A token made with `chronos tokens create`. On loopback none is needed unless one is configured.',
  })
  registry.registerComponent('securitySchemes', 'session', {
    type: 'apiKey',
    in: 'cookie',
    name: 'chronos_session',
    description: 'What the dashboard gets from `POST /session`.',
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
  const rights = `Role: ${role}. ${tenants === 'own' ? "A tenant's token sees its own." : "Not for a tenant's token."}`
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
            description: 'The same key with the same body is answered with the first answer, for 24 hours.',
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
      '4XX': { description: 'Not done', content: { 'application/problem+json': { schema: problemSchema } } },
      '5XX': { description: 'Not done', content: { 'application/problem+json': { schema: problemSchema } } },
    },
  }
}

const typeOf = ({ tag }: Endpoint): string => (tag === 'events' ? 'text/event-stream' : 'application/json')
const hasFields = (schema: z.ZodObject): boolean => Object.keys(schema.shape).length > 0

/** `post /jobs/{id}/run-now` → `postJobRunNow`, `post /jobs:cancel` → `postJobsCancel`: stable as long as the address is. */
export function operationId({ method, path }: Endpoint): string {
  // One of many is named in the singular.
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
