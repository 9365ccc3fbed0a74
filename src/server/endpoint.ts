import type { Caller, Role } from './access/caller.js'
import type { Application } from './application.js'
import { z } from './schemas/zod.js'

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'
type Fields = z.ZodObject

/** What a handler is given: everything checked. */
export interface Call<Params, Query, Body> {
  readonly app: Application
  readonly caller: Caller
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly requestId: string
  /** The version that the caller has seen (`If-Match`), without quotes. */
  readonly ifMatch: string | undefined
  readonly idempotencyKey: string | undefined
  /** Aborts when the caller is gone or the server stops. */
  readonly signal: AbortSignal
  /** The client's address. */
  readonly address: string
  /** The secret of the caller's session, where it has one. */
  readonly session: string | undefined
  /** Whether the request came, or was brought by a proxy, over TLS. */
  readonly isSecure: boolean
  header(name: string): string | undefined
  /** Facts for the audit log beside caller, action and time: a count, a filter. */
  note(facts: Readonly<Record<string, unknown>>): void
}

export interface Answer {
  /** Default: the first success of the endpoint. */
  readonly status?: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** The version of what is answered, without quotes. */
  readonly etag?: string
  /** false: nothing changed, so the audit log gets no entry. */
  readonly changed?: false
  /** Fields of the body that are told once and never again, even to a repeated request. */
  readonly once?: readonly string[]
}

interface Said {
  readonly description: string
  readonly schema?: z.ZodType
}

/**
 * A route of the API, in one place: what it takes, who may call it, what it answers. Router, validation, the OpenAPI
 * document, the audit log and the tests of who may do what are all made of this.
 */
export interface Endpoint {
  readonly method: Method
  /** Under `/api/v1`, with `{names}`. */
  readonly path: string
  /** The noun that it belongs to. */
  readonly tag: string
  readonly summary: string
  readonly description?: string
  /** The least that a caller must be. */
  readonly role: Role
  /** Whether a tenant's token may call it; then it sees and touches only its own. */
  readonly tenants: 'own' | 'none'
  /** It may take minutes: it looks at every job, changes many, or waits on purpose. */
  readonly takesLong?: boolean
  /** For whoever is not known yet. */
  readonly isOpen?: boolean
  /** It makes something: `Idempotency-Key` is honoured. */
  readonly creates?: boolean
  /**
   * How the audit log records it: one entry per request, or one per caller and second with a count (`sum`), for routes that
   * may be called thousands of times a second. Default: `entry`, and `none` for GET. `none` means that nothing changes.
   */
  readonly audit?: 'entry' | 'sum' | 'none'
  readonly params: Fields
  readonly query: Fields
  readonly body: z.ZodType | undefined
  /** Where a body may have one of several forms: the one that this is meant to be, so that errors speak of it alone. */
  readonly choose?: (body: unknown) => z.ZodType
  readonly answers: Readonly<Record<number, Said>>
  readonly handle: (call: Call<never, never, never>) => Promise<Answer>
}

const NOTHING = z.strictObject({})
type Nothing = typeof NOTHING

/** What comes from JSON or a query has a field or has it not: none is there and undefined. */
type Exact<T> = unknown extends T
  ? T
  : T extends readonly (infer Item)[]
    ? number extends T['length']
      ? Exact<Item>[]
      : T
    : T extends object
      ? { [K in keyof T]: Exact<Exclude<T[K], undefined>> }
      : T
type Read<Schema extends z.ZodType> = Exact<z.output<Schema>>

type Given<P extends Fields, Q extends Fields, B extends z.ZodType> = Omit<
  Endpoint,
  'params' | 'query' | 'body' | 'handle'
> & {
  readonly params?: P
  readonly query?: Q
  readonly body?: B
  readonly handle: (call: Call<Read<P>, Read<Q>, Read<B>>) => Promise<Answer>
}

/** Ties the types of what comes in to the handler that gets it. */
export function endpoint<P extends Fields = Nothing, Q extends Fields = Nothing, B extends z.ZodType = z.ZodUndefined>(
  given: Given<P, Q, B>,
): Endpoint {
  const { params = NOTHING, query = NOTHING, body, ...rest } = given
  return { ...rest, params, query, body } as Endpoint
}

/** `{ 200: … }` */
export function ok(schema: z.ZodType, description = 'Done'): Readonly<Record<number, Said>> {
  return { 200: { description, schema } }
}

export function created(schema: z.ZodType, description = 'Made'): Readonly<Record<number, Said>> {
  return { 201: { description, schema } }
}

export const gone: Readonly<Record<number, Said>> = { 204: { description: 'Done; there is nothing to say' } }

export function successOf({ answers }: Endpoint): number {
  return Math.min(...Object.keys(answers).map(Number))
}
