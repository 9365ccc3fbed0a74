import { threadId } from 'node:worker_threads'

class CardError extends Error {
  /** @override */
  name = 'CardError'
}

/** The worker knows it by its name, from whatever copy of the package it comes. */
class PermanentError extends Error {}

/** Does what the payload says. @type {import('../../../../src/index.js').Handler<string, unknown>} */
export async function run(what, job) {
  switch (what) {
    case 'loop':
      for (;;) {}
    case 'wait':
      job.signal.throwIfAborted()
      return new Promise((_, reject) => job.signal.addEventListener('abort', () => reject(job.signal.reason)))
    case 'exit':
      return process.exit(7)
    case 'crash':
      queueMicrotask(() => {
        throw new Error('no code awaits this')
      })
      return new Promise(() => {})
    case 'card':
      throw Object.assign(new CardError('declined'), { code: 'E_CARD', status: 402, cause: new TypeError('inner') })
    case 'refused':
      throw new PermanentError('never')
    case 'limited':
      throw Object.assign(new Error('slow down'), { status: 429, headers: new Headers({ 'retry-after': '120' }) })
    case 'text':
      throw 'just text'
    case 'function':
      return () => 1
    case 'snooze':
      return job.attempt === 1 && job.run === 1 ? job.snooze('10m', 'not yet') : 'rested'
    case 'once-fails': {
      const error = new CardError('effect')
      const caught = await job.once('a', () => Promise.reject(error)).catch(thrown => thrown)
      return caught === error
    }
    case 'complete':
      return job.complete(/** @type {never} */ ({}), 1)
    default:
      return threadId
  }
}
