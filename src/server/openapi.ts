import { present } from '../core/values/present.js'
import { type Components, jsonSchema, type Schema } from '../core/values/schema.js'
import type { ObjectSchema } from '../core/values/shape.js'
import type { Endpoint } from './endpoint.js'
import { problemSchema } from './http/problem.js'
import { mayBeLeftOut } from './http/router.js'

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

const SECURITY = {
  token: {
    type: 'http',
    scheme: 'bearer',
    description: 'A token from `chronos tokens create`. On loopback a token is required as soon as one exists.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'chronos_session',
    description: 'The cookie that `POST /session` sets for the dashboard.',
  },
}

const HEADERS = { 'X-Request-Id': { description: 'The id of this request in the logs.', schema: { type: 'string' } } }

const IDEMPOTENCY_KEY = {
  name: 'idempotency-key',
  in: 'header',
  description: 'For 24 hours, the same key with the same body returns the first response.',
  schema: { type: 'string', maxLength: 200 },
}

const PREFER = {
  name: 'prefer',
  in: 'header',
  description:
    '`wait=30`: respond when the job has ended, or after 29 s with the job as it is then. The time of a request limits it. `Preference-Applied: wait` confirms it; without this header too many requests were waiting.',
  schema: { type: 'string', example: 'wait=30' },
}

const ETAG = { ETag: { description: 'The version of the response, for `If-Match`.', schema: { type: 'string' } } }

const IF_MATCH = {
  name: 'if-match',
  in: 'header',
  description: 'The `ETag` that was read: if it has changed since, nothing is changed and the response is 412.',
  schema: { type: 'string' },
}

/** The OpenAPI 3.1 document, generated from the schemas that validate requests. */
export function openApiDocument(endpoints: readonly Endpoint[], basePath: string): object {
  const schemas: Components = {}
  const paths: Record<string, Record<string, object>> = {}
  for (const endpoint of endpoints) {
    paths[endpoint.path] = { ...paths[endpoint.path], [endpoint.method]: operationOf(endpoint, schemas) }
  }
  return {
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
    components: { securitySchemes: SECURITY, schemas },
    paths,
  }
}

function operationOf(endpoint: Endpoint, schemas: Components): object {
  const { method, tag, summary, description, role, tenants, params, query, body, creates, isVersioned, answers } =
    endpoint
  const rights = `Role: ${role}. ${tenants === 'own' ? 'The token of a tenant sees only its own data.' : 'Not available to the token of a tenant.'}`
  const content = (type: string, schema: Schema): object => ({ [type]: { schema: jsonSchema(schema, schemas) } })
  const problem = (said: string): object => ({
    description: said,
    content: content('application/problem+json', problemSchema),
  })
  const parameters = [
    ...parametersIn('path', params, schemas),
    ...parametersIn('query', query, schemas),
    ...(creates ? [IDEMPOTENCY_KEY] : []),
    ...(endpoint.wait ? [PREFER] : []),
    ...(isVersioned && method !== 'get' ? [IF_MATCH] : []),
  ]
  const responses = Object.entries(answers).map(([status, { description: said, schema }]) => [
    status,
    {
      description: said,
      headers: isVersioned ? { ...HEADERS, ...ETAG } : HEADERS,
      ...(schema && { content: content(typeOf(endpoint), schema) }),
    },
  ])
  return {
    operationId: operationId(endpoint),
    tags: [tag],
    summary,
    description: [description, rights].filter(text => text !== undefined).join('\n\n'),
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: { required: !mayBeLeftOut(body), content: content('application/json', body) } }),
    responses: {
      ...Object.fromEntries(responses),
      '4XX': problem('The request was refused'),
      '5XX': problem('The server failed'),
    },
  }
}

function parametersIn(place: 'path' | 'query', { fields, required }: ObjectSchema, schemas: Components): object[] {
  return Object.entries(fields).map(([name, field]) => ({
    name,
    in: place,
    ...(name in required && { required: true }),
    ...present({ description: field.about.description }),
    schema: jsonSchema(field, schemas),
  }))
}

const typeOf = ({ tag }: Endpoint): string => (tag === 'events' ? 'text/event-stream' : 'application/json')

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
