/** A binary heap of times that finds the job that is due next. */
export class DueJobs {
  readonly #jobs: Uint32Array
  readonly #times: Float64Array
  #size = 0

  constructor(jobs: number) {
    this.#jobs = new Uint32Array(jobs)
    this.#times = new Float64Array(jobs)
  }

  get size(): number {
    return this.#size
  }

  /** When the next one is due. The heap must not be empty. */
  get nextMs(): number {
    return this.#times[0]!
  }

  put(job: number, dueMs: number): void {
    this.#rise(this.#size++, job, dueMs)
  }

  /** Removes the next one. The heap must not be empty. */
  take(): number {
    const [jobs, times, last] = [this.#jobs, this.#times, --this.#size]
    const first = jobs[0]!
    // The gap sinks to the bottom, where the last one most likely belongs: one comparison per level instead of two.
    let gap = 0
    for (let child = 1; child < last; child = 2 * gap + 1) {
      if (child + 1 < last && times[child + 1]! < times[child]!) child++
      times[gap] = times[child]!
      jobs[gap] = jobs[child]!
      gap = child
    }
    this.#rise(gap, jobs[last]!, times[last]!)
    return first
  }

  #rise(from: number, job: number, dueMs: number): void {
    const [jobs, times] = [this.#jobs, this.#times]
    let index = from
    while (index > 0) {
      const parent = (index - 1) >> 1
      if (times[parent]! <= dueMs) break
      times[index] = times[parent]!
      jobs[index] = jobs[parent]!
      index = parent
    }
    times[index] = dueMs
    jobs[index] = job
  }
}
