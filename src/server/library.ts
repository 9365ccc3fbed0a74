import type { Chronos } from '../engine/client/chronos.js'
import type { Tokens } from './access/tokens.js'

/** The parts of the library that the API makes available. Tokens belong to the API itself. */
export interface Library
  extends Pick<
    Chronos,
    | 'jobs'
    | 'byId'
    | 'queues'
    | 'names'
    | 'schedules'
    | 'dead'
    | 'redrives'
    | 'circuits'
    | 'webhooks'
    | 'alerts'
    | 'enqueue'
    | 'http'
    | 'stats'
    | 'series'
    | 'incident'
    | 'forecast'
    | 'workers'
    | 'fleet'
    | 'verify'
    | 'info'
    | 'close'
  > {
  readonly tokens: Tokens
}

type Async<T> = {
  [Name in keyof T & string]: T[Name] extends (...given: never[]) => Promise<unknown> | AsyncIterable<unknown>
    ? Name
    : never
}[keyof T & string]

type Parts = Exclude<keyof Library, Async<Library>>

/** `schedules.pause`, `stats`. */
export type MethodName = Async<Library> | { [Part in Parts]: `${Part}.${Async<Library[Part]>}` }[Parts]

/**
 * The method that an endpoint makes available, with its arguments, so that a client can offer the same method:
 * - `schedules.pause(id)`: `id` is in the path;
 * - `redrives.setRate(id, rate)`: a name that is not in the path is a field of the body, or of the query of a GET;
 * - `jobs.list(..., ...)`: the fields of the argument are fields of the body or the query;
 * - `dead.group(fingerprint, ?tenantId)`: a field of the query, whatever the method;
 * - `jobs.edit(id, ..., ifMatch)`: the `version` of the argument is the `If-Match` header;
 * - `dead.discard(filter, ..., all=true)`: a field that the API requires and the method does not have;
 * - `alerts.rules().data`: the method returns this field of the response.
 */
export type LibraryCall = `${MethodName}(${string})${'' | `.${string}`}`
