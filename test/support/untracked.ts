import { executionAsyncId } from 'node:async_hooks'
import { afterAll } from 'vitest'

// A `setupFiles` of vitest. Test files share a process: a file that leaves an AsyncLocalStorage in use makes Node track
// every promise of the files after it, which doubles their cost.

const wasTracked = await isTracked()

afterAll(async () => {
  if (!wasTracked && (await isTracked())) {
    throw new Error('this file leaves an AsyncLocalStorage in use; call its disable() when the test has ended')
  }
})

/** Whether Node tracks promises: only then does what follows an `await` have an id of its own. */
async function isTracked(): Promise<boolean> {
  await new Promise(resolve => setImmediate(resolve))
  await undefined
  return executionAsyncId() !== 0
}
