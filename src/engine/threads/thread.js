// The thread behind `pool.ts`. It is plain JavaScript, so that it loads both from the sources and from the package.
import { parentPort } from 'node:worker_threads'

/** @typedef {import('./message.js').Order} Order */
/** @typedef {import('./message.js').FromThread} FromThread */
/** @typedef {import('./message.js').ToThread} ToThread */
/** @typedef {import('./message.js').FlatError} FlatError */
/** @typedef {import('node:worker_threads').MessagePort} MessagePort */

const CAUSES_MAX = 10
const ERRORS_MAX = 100

/** What `job.snooze` returns: the other side makes the real one. */
class Snoozed {
  /** @param {unknown} delay @param {unknown} note */
  constructor(delay, note) {
    this.delay = delay
    this.note = note
  }
}

/** @param {unknown} value */
const isReference = value => (typeof value === 'object' && value !== null) || typeof value === 'function'

/** A value that can't be sent becomes its JSON, or undefined: a report must not fail a job. @param {unknown} value */
function plain(value) {
  try {
    return JSON.parse(JSON.stringify(value))
  } catch {
    return undefined
  }
}

/** The names of the classes of a value, most specific first. @param {object} value */
function classesOf(value) {
  /** @type {string[]} */
  const names = []
  for (let at = Object.getPrototypeOf(value); at && names.length < 20; at = Object.getPrototypeOf(at)) {
    const name = Object.getOwnPropertyDescriptor(at, 'constructor')?.value?.name
    if (typeof name === 'string' && name !== '') names.push(name)
  }
  return names
}

/** @param {unknown} headers */
const flatHeaders = headers => (headers instanceof Headers ? Object.fromEntries(headers) : headers)

/**
 * An error as data that can be sent: a structured clone keeps neither its class nor its fields.
 *
 * @param {unknown} error
 * @param {number} depth
 * @returns {FlatError}
 */
function flat(error, depth = 0) {
  if (!isReference(error) || typeof error === 'function') {
    return { thrown: typeof error === 'function' || typeof error === 'symbol' ? String(error) : error }
  }
  try {
    const given = /** @type {Record<string, unknown>} */ (error)
    const { name, message, stack, cause, errors, headers, response, ...own } = Object.assign({}, given, {
      name: given['name'],
      message: given['message'],
      stack: given['stack'],
      cause: given['cause'],
      errors: given['errors'],
    })
    const { status, statusCode, headers: theirs } = /** @type {Record<string, unknown>} */ (response ?? {})
    const simple = Object.entries(own).filter(([, value]) => !isReference(value) && typeof value !== 'symbol')
    return {
      classes: classesOf(given),
      fields: { ...Object.fromEntries(simple), name, message, stack, ...plain({ headers: flatHeaders(headers) }) },
      ...(response !== undefined && { response: plain({ status, statusCode, headers: flatHeaders(theirs) }) }),
      ...(cause !== undefined && depth < CAUSES_MAX && { cause: flat(cause, depth + 1) }),
      ...(Array.isArray(errors) &&
        depth < CAUSES_MAX && { errors: errors.slice(0, ERRORS_MAX).map(one => flat(one, depth + 1)) }),
    }
  } catch (thrown) {
    return { thrown: `an error that can't be read: ${thrown}` }
  }
}

/** @param {FlatError} error */
function errorOf(error) {
  if (!('fields' in error)) return error.thrown
  const { message, ...fields } = error.fields
  return Object.assign(new Error(String(message)), fields)
}

/** The `job` of one run: every call is a message to the worker. */
class Run {
  #port
  #order
  #controller = new AbortController()
  #calls = 0
  /** @type {Map<number, { resolve: (value: unknown) => void, reject: (error: unknown) => void }>} */
  #waiting = new Map()
  /** The effects of `job.once` that the worker may ask to run. @type {Map<number, () => unknown>} */
  #effects = new Map()
  /** What they threw, so that the handler gets the same error back. @type {Map<number, unknown>} */
  #thrown = new Map()

  /** @param {Order} order */
  constructor(order) {
    this.#order = order
    this.#port = order.port
    this.#port.on('message', (/** @type {ToThread} */ message) => void this.#hear(message))
  }

  async start() {
    const { module, payload } = this.#order
    try {
      const { default: main, run = main } = await import(module)
      if (typeof run !== 'function') throw new TypeError(`${module} exports no function: export default, or run`)
      this.#end(await run(payload, this.#job()))
    } catch (error) {
      this.#send({ type: 'failed', error: flat(error) })
    }
    this.#port.close()
  }

  /** @param {unknown} result */
  #end(result) {
    if (result instanceof Snoozed) this.#send({ type: 'snoozed', delay: result.delay, note: result.note })
    else {
      try {
        this.#port.postMessage({ type: 'done', result })
      } catch {
        this.#send({ type: 'unsent' })
      }
    }
  }

  /** @param {FromThread} message */
  #send(message) {
    try {
      this.#port.postMessage(message)
    } catch {
      this.#port.postMessage(plain(message))
    }
  }

  /** @param {{ type: 'once', name: string, options: unknown } | { type: 'wait', duration: unknown }} message @param {(() => unknown) | undefined} effect */
  #ask(message, effect) {
    const id = ++this.#calls
    if (effect) this.#effects.set(id, effect)
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      this.#send({ ...message, id })
    })
  }

  /** @param {ToThread} message */
  async #hear(message) {
    if (message.type === 'abort') this.#controller.abort(errorOf(message.error))
    else if (message.type === 'effect') await this.#runEffect(message.id)
    else if (message.type === 'answer') this.#settle(message)
  }

  /** @param {number} id */
  async #runEffect(id) {
    try {
      this.#send({ type: 'effect-done', id, value: await this.#effects.get(id)?.() })
    } catch (error) {
      this.#thrown.set(id, error)
      this.#send({ type: 'effect-failed', id, error: flat(error) })
    }
  }

  /** @param {Extract<ToThread, { type: 'answer' }>} answer */
  #settle({ id, value, error, isOwn }) {
    const waiting = this.#waiting.get(id)
    if (error) waiting?.reject(isOwn ? this.#thrown.get(id) : errorOf(error))
    else waiting?.resolve(value)
    this.#waiting.delete(id)
    this.#effects.delete(id)
    this.#thrown.delete(id)
  }

  #job() {
    const { facts, storeAheadMs } = this.#order
    return {
      ...facts,
      signal: this.#controller.signal,
      clock: {
        // The thread has no other clock; the difference makes it the store's.
        now: () => new Date(Date.now() + storeAheadMs),
        wait: (/** @type {unknown} */ duration) => this.#ask({ type: 'wait', duration }, undefined),
      },
      snooze: (/** @type {unknown} */ delay, /** @type {unknown} */ note) => new Snoozed(delay, note),
      once: (/** @type {string} */ name, /** @type {() => unknown} */ effect, /** @type {unknown} */ options) =>
        this.#ask({ type: 'once', name, options }, effect),
      complete: async () => {
        throw Object.assign(
          new Error('job.complete: a transaction can not leave its thread; return the result instead'),
          {
            code: 'NOT_ALLOWED',
          },
        )
      },
      log: (/** @type {unknown} */ message, /** @type {unknown} */ data) => this.#send({ type: 'log', message, data }),
      note: (/** @type {unknown} */ text) => this.#send({ type: 'note', text }),
      progress: (/** @type {unknown} */ value) => this.#send({ type: 'progress', value }),
      spent: (/** @type {unknown} */ units) => this.#send({ type: 'spent', units }),
    }
  }
}

parentPort?.on('message', (/** @type {Order} */ order) => void new Run(order).start())
