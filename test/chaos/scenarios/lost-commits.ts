import { Line } from '../../support/line.js'
import { LOAD } from '../fleet.js'
import { pause } from '../pause.js'
import { onPostgres } from '../places.js'
import { type Scenario, underLoad } from '../scenario.js'
import type { Verdict } from '../verdict.js'

const BETWEEN_MS = 500

/** Loses so many answers to a COMMIT, a few at a time. */
export async function loseAnswers(line: Line, answers: number, verdict: Verdict): Promise<void> {
  while (line.lost < answers) {
    line.loseAnswers(1 + Math.floor(Math.random() * 3))
    await pause(BETWEEN_MS)
  }
  line.loseAnswers(0)
  verdict.count('COMMIT answers lost', line.lost)
}

export const lostCommits: Scenario = {
  name: 'lost COMMIT answers',
  about: 'A proxy cuts the connection after the server has committed and before its answer arrives.',
  slice: { answers: 10 },
  full: { answers: 300 },
  coverage: ({ answers = 0 }) => ({ 'COMMIT answers lost': answers, 'jobs acknowledged': Math.ceil(answers / 5) }),
  run: ({ answers = 0 }, verdict) =>
    onPostgres(async (place, server) => {
      const line = await Line.to(server.url)
      try {
        const through = { ...place, store: line.url(server.url) }
        await underLoad(through, LOAD, verdict, () => loseAnswers(line, answers, verdict))
      } finally {
        line.close()
      }
    }),
}
