import { ChronosError, shown } from '../core/values/error.js'
import { checkKeys } from '../core/values/limits.js'

export interface ClientOptions {
  /** The address of the server, with its base path: `https://jobs.example` or `https://shop.example/chronos`. */
  readonly url: string
  /** A token of `chronos tokens create`: viewer to read, operator to enqueue and change. */
  readonly token?: string
  /** Sends the requests, for example with more headers. Default: the `fetch` of the runtime. */
  readonly fetch?: typeof fetch
}

const OPTIONS: readonly (keyof ClientOptions)[] = ['url', 'token', 'fetch']

/** The options with an address that ends without a slash. */
export function parseClientOptions(options: ClientOptions): ClientOptions {
  const where = 'createClient'
  checkKeys(options, OPTIONS, where)
  const { url, token, fetch: given } = options
  if (typeof url !== 'string' || !/^https?:\/\/./.test(url)) {
    throw new ChronosError('INVALID_OPTION', `${where}: url: expected https://…, got ${shown(url)}`)
  }
  if (token !== undefined && typeof token !== 'string') {
    throw new ChronosError('INVALID_OPTION', `${where}: token: expected a text, got something else`)
  }
  if (given !== undefined && typeof given !== 'function') {
    throw new ChronosError('INVALID_OPTION', `${where}: fetch: expected a function, got ${shown(given)}`)
  }
  return { ...options, url: url.replace(/\/+$/, '') }
}
