import type { Infer, Schema } from '../core/values/schema.js'
import { type ObjectSchema, object } from '../core/values/shape.js'
import type { Credentials } from './access/access.js'
import type { Caller, Role } from './access/caller.js'
import type { Application } from './application.js'
import type { Facts } from './audit-words.js'
import type { LibraryCall } from './library.js'
import { byId, byName } from './routes/words.js'

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** The validated request that a handler gets. */
export interface Call<Params, Query, Body> {
  readonly app: Application
  readonly caller: Caller
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly requestId: string
  /** When the request arrived, on the server's clock. */
  readonly startedAt: number
  /** The version that the caller has read (`If-Match`), without quotes. */
  readonly ifMatch: string | undefined
  /** Made of the caller, the route and its `Idempotency-Key`. */
  readonly repeatId: string | undefined
  /** Aborts when the client disconnects or the server stops. */
  readonly signal: AbortSignal
  readonly credentials: Credentials
  /** Whether the client used TLS, directly or to a proxy. */
  readonly isSecure: boolean
  header(name: string): string | undefined
  /** Facts for the audit log beside caller, action and time: a count, a filter. */
  note(facts: Readonly<Record<string, unknown>>): void
}

export interface Answer {
  /** Default: the lowest status of the endpoint's answers. */
  readonly status?: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** The version of the body, without quotes. */
  readonly etag?: string
  /** false: nothing changed, so the audit log gets no entry. */
  readonly changed?: false
  /** The audit log gets an entry for this change, though the route sums up. */
  readonly audit?: 'entry'
  /** Fields of the body that are shown only once, and omitted in the response to a repeated request. */
  readonly once?: readonly string[]
}

interface Said {
  readonly description: string
  readonly schema?: Schema
}

/**
 * The declaration of one route: its input, its permissions and its responses. The router, validation, the OpenAPI
 * document, the audit log and the tests of permissions all use it.
 */
export interface Endpoint {
  readonly method: Method
  /** Under `/api/v1`, with `{names}`. */
  readonly path: string
  /** The group in the OpenAPI document. */
  readonly tag: string
  readonly summary: string
  /** The methods of the library that it makes available. */
  readonly call?: LibraryCall | readonly LibraryCall[]
  readonly description?: string
  /** The minimum role of the caller. */
  readonly role: Role
  /** Whether the token of a tenant may call it, limited to the tenant's own data. */
  readonly tenants: 'own' | 'none'
  /** Offered as an MCP tool of this name. Its words and its schemas describe the tool. */
  readonly tool?: string
  /** It may take minutes: it reads every job, changes many, or waits on purpose. */
  readonly takesLong?: boolean
  /** Authentication is not required. */
  readonly isOpen?: boolean
  /** Its response has an `ETag`; a change accepts it as `If-Match`. */
  readonly isVersioned?: true
  /**
   * It creates something, and honours `Idempotency-Key`. `keyed`: what it creates carries the key, so the request can run
   * again after a lost response.
   */
  readonly creates?: true | 'keyed'
  /**
   * How the audit log records a change: one entry per request, or one per caller, action and second with a count (`sum`),
   * for routes that may be called thousands of times a second. `none`: the route changes nothing, so a read-only server
   * allows it too. Default: `none` for GET, otherwise `entry`.
   */
  readonly audit?: 'entry' | 'sum' | 'none'
  /** What the audit log says about a change: `paused queue mail`. */
  readonly did?: (facts: Facts) => string
  readonly params: ObjectSchema
  readonly query: ObjectSchema
  readonly body: Schema | undefined
  readonly answers: Readonly<Record<number, Said>>
  readonly handle: (call: Call<never, never, never>) => Promise<Answer>
  /**
   * It honours `Prefer: wait=30`: runs when the answer is stored for repeated requests, and returns another one if the job
   * has ended or the time is over.
   */
  readonly wait?: (call: Call<never, never, never>, given: Answer) => Promise<Answer>
}

/** The body of an action without settings. */
export const NOTHING = object({})
type Nothing = typeof NOTHING

type ParamsOf<Path> = Path extends `${string}{id}${string}`
  ? typeof byId
  : Path extends `${string}{name}${string}`
    ? typeof byName
    : Nothing

type Given<Path, P, Q, B> = Omit<Endpoint, 'path' | 'tag' | 'params' | 'query' | 'body' | 'handle' | 'wait'> & {
  readonly path: Path
  /** Default: the first word of the path. */
  readonly tag?: string
  /** Default: `id` or `name`, if the path has it. */
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  readonly handle: (call: Call<Infer<P>, Infer<Q>, Infer<B>>) => Promise<Answer>
  readonly wait?: (call: Call<Infer<P>, Infer<Q>, Infer<B>>, given: Answer) => Promise<Answer>
}

/** Infers the types of the handler's input from the path and the schemas. */
export function endpoint<
  const Path extends string,
  P extends ObjectSchema = ParamsOf<Path>,
  Q extends ObjectSchema = Nothing,
  B extends Schema = Schema<undefined>,
>(given: Given<Path, P, Q, B>): Endpoint {
  const { path, tag = path.split(/[/:]/)[1], params = paramsOf(path), query = NOTHING, body, ...rest } = given
  return { ...rest, path, tag, params, query, body } as Endpoint
}

const paramsOf = (path: string): ObjectSchema =>
  path.includes('{id}') ? byId : path.includes('{name}') ? byName : NOTHING

/** `{ 200: … }` */
export function ok(schema: Schema, description = 'Done'): Readonly<Record<number, Said>> {
  return { 200: { description, schema } }
}

export function created(schema: Schema, description = 'Created'): Readonly<Record<number, Said>> {
  return { 201: { description, schema } }
}

export const gone: Readonly<Record<number, Said>> = { 204: { description: 'Done; the response has no body' } }

export function successOf({ answers }: Endpoint): number {
  return Math.min(...Object.keys(answers).map(Number))
}
