import type { DemoJob } from './run.js'
import { STORIES, type Story } from './stories.js'

/** Where a job did not end as its story says, in words. Nothing is what it should find. */
export function differences(jobs: readonly DemoJob[]): readonly string[] {
  return STORIES.flatMap(story => {
    const job = jobs.find(one => one.name === story.name)
    const [told, happened] = [ofStory(story), job ? ofJob(job) : 'nothing']
    return told === happened ? [] : [`${story.name}: expected ${told}, got ${happened}`]
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
  return `${end} at attempt ${attempts} after runs that ${runs.join(', ') || 'never began'}`
}
