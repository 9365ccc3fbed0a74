import type { DemoJob } from './run.js'
import { STORIES, type Story } from './stories.js'

/** One line for each job whose outcome is not the expected one. */
export function differences(jobs: readonly DemoJob[]): readonly string[] {
  return STORIES.flatMap(story => {
    const job = jobs.find(one => one.name === story.name)
    const [expected, actual] = [ofStory(story), job ? ofJob(job) : 'no job']
    return expected === actual ? [] : [`${story.name}: expected ${expected}, got ${actual}`]
  })
}

function ofStory({ ends: { state, reason, runs, attempts } }: Story): string {
  return sentence(state, reason, runs, attempts)
}

function ofJob({ state, reason, history, attempt }: DemoJob): string {
  const runs = history.map(({ status }) => status).reverse()
  return sentence(state, reason, runs, attempt)
}

function sentence(state: string, reason: string | undefined, runs: readonly string[], attempts: number): string {
  const end = reason === undefined ? state : `${state} (${reason})`
  return `${end} at attempt ${attempts}, runs: ${runs.join(', ') || 'none'}`
}
