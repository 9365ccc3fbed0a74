import type { Components, JsonSchema, Schema } from '../../core/values/schema.js'
import { jsonSchema } from '../../core/values/schema.js'
import type { ObjectSchema } from '../../core/values/shape.js'
import { type Caller, mayAct } from '../access/caller.js'
import type { Endpoint } from '../endpoint.js'
import { auditOf } from '../http/perform.js'

/** An endpoint that is offered as a tool. */
export type ToolEndpoint = Endpoint & { readonly tool: string }

/** The parts of a request that the arguments of a tool become. */
export interface ToolInput {
  readonly params: Readonly<Record<string, unknown>>
  readonly query: Readonly<Record<string, unknown>>
  readonly body: Readonly<Record<string, unknown>> | undefined
}

export type Arguments = Readonly<Record<string, unknown>>

/** What a client sees of a tool. */
export interface ToolDefinition {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: JsonSchema & { readonly type: 'object' }
  readonly annotations: {
    readonly readOnlyHint: boolean
    readonly destructiveHint: boolean
    readonly openWorldHint: false
  }
}

const DRY_RUN_FIRST =
  'Call it with `dryRun: true` first. To make the change, repeat the call without `dryRun` and give the number that the ' +
  'dry run returned as `atMost`; if another number of jobs matches by then, nothing is changed.'
const ONLY_DRY_RUNS = 'Changes are not allowed here, so `dryRun: true` is required.'

export function toolsIn(endpoints: readonly Endpoint[]): readonly ToolEndpoint[] {
  return endpoints.filter((each): each is ToolEndpoint => each.tool !== undefined)
}

export const isChange = (endpoint: Endpoint): boolean => auditOf(endpoint) !== 'none'

/** A change that can be counted before it is made. */
export const hasDryRun = ({ body }: Endpoint): boolean => 'dryRun' in bodyFields(body)

/** Whether a client may see the tool: its caller must have the right, and changes must be allowed. */
export function isOffered(
  endpoint: Endpoint,
  { caller, allowWrites }: { readonly caller?: Caller; readonly allowWrites: boolean },
): boolean {
  if (caller && !mayAct(caller.role, endpoint.role)) return false
  if (caller?.tenantId !== undefined && endpoint.tenants === 'none') return false
  return allowWrites || !isChange(endpoint) || hasDryRun(endpoint)
}

export function definitionOf(endpoint: ToolEndpoint, allowWrites: boolean): ToolDefinition {
  const { tool: name, summary, description } = endpoint
  const writes = isChange(endpoint)
  const rule = !hasDryRun(endpoint) ? undefined : allowWrites ? DRY_RUN_FIRST : ONLY_DRY_RUNS
  return {
    name,
    title: summary,
    description: [`${summary}.`, description, rule].filter(text => text !== undefined).join(' '),
    inputSchema: inputSchema(endpoint),
    annotations: {
      readOnlyHint: !writes || !allowWrites,
      destructiveHint: writes && allowWrites,
      openWorldHint: false,
    },
  }
}

/** One object with the fields of path, query and body. */
function inputSchema({ params, query, body }: Endpoint): ToolDefinition['inputSchema'] {
  const components: Components = {}
  const parts = [params, query, ...(isObject(body) ? [body] : [])]
  const properties = parts.flatMap(({ fields }) =>
    Object.entries<Schema>(fields).map(([name, field]) => [name, describedField(field, components)] as const),
  )
  const required = parts.flatMap(part => Object.keys(part.required))
  const schema = { properties: Object.fromEntries(properties), required, $defs: components }
  // References to the components of the OpenAPI document.
  const text = JSON.stringify(schema).replaceAll('#/components/schemas/', '#/$defs/')
  return { type: 'object', ...(JSON.parse(text) as JsonSchema), additionalProperties: false }
}

function describedField(field: Schema, to: Components): JsonSchema {
  const { description } = field.about
  return { ...jsonSchema(field, to), ...(description !== undefined && { description }) }
}

/** Arguments that no part knows are refused with the body, or the query if there is none. */
export function inputOf({ params, query, body }: Endpoint, given: Arguments): ToolInput {
  const part = (isOwn: (name: string) => boolean): Arguments =>
    Object.fromEntries(Object.entries(given).filter(([name]) => isOwn(name)))
  const [inPath, inQuery] = [(name: string) => name in params.fields, (name: string) => name in query.fields]
  return {
    params: part(inPath),
    query: part(name => !inPath(name) && (body === undefined || inQuery(name))),
    body: body === undefined ? undefined : part(name => !inPath(name) && !inQuery(name)),
  }
}

const isObject = (schema: Schema | undefined): schema is ObjectSchema => schema !== undefined && 'fields' in schema

const bodyFields = (body: Schema | undefined): object => (isObject(body) ? body.fields : {})
