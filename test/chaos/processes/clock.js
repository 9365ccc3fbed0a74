// Preloaded into a process (--import): its system clock can be set, as an operator or NTP would set it. Monotonic time
// (`performance.now()`) does not change. Threads share the clock of their process.
import { getEnvironmentData, isMainThread, setEnvironmentData } from 'node:worker_threads'

const KEY = 'chaos clock'
const shared = /** @type {SharedArrayBuffer} */ (
  isMainThread ? new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT) : getEnvironmentData(KEY)
)
const offset = new Float64Array(shared)
if (isMainThread) {
  setEnvironmentData(KEY, shared)
  offset[0] = Number(new URL(import.meta.url).searchParams.get('ms'))
  process.on('message', text => {
    const [, ms] = /^clock (-?\d+)$/.exec(String(text)) ?? []
    if (ms !== undefined) offset[0] = Number(ms)
  })
}

const real = Date.now
Date.now = () => real() + (offset[0] ?? 0)
