import type { Explanation } from '../job/explain.js'
import { moment } from '../job/moment.js'
import { timeText } from '../job/view.js'
import { present } from '../values/present.js'
import type { Schedule } from './schedule.js'

/** The occurrence that waits or runs, otherwise the last one, in words. */
export interface ExplainedOccurrence {
  readonly isLive: boolean
  readonly told: Explanation
}

/** Explains a schedule: its occurrence while it has one that waits or runs, otherwise when and whether it occurs again. */
export function explainSchedule(
  { state }: Schedule,
  occurrence: ExplainedOccurrence | undefined,
  next: number | undefined,
  now: number,
): Explanation {
  const nextOccurrenceAt = next === undefined ? undefined : timeText(next)
  const words = next === undefined ? WITHOUT_NEXT[state] : `its next occurrence is ${moment(next, now)}`
  const told = occurrence?.told
  if (told && (occurrence.isLive || state === 'ended')) {
    return { ...told, ...present({ nextOccurrenceAt }), details: [...told.details, sentence(words)] }
  }
  const waiting = next === undefined ? undefined : { because: 'scheduled' as const, words, until: timeText(next) }
  return {
    summary: `${TITLES[state]}: ${words}.`,
    ...present({ waiting, last: told?.last, nextOccurrenceAt }),
    next: { words: sentence(words), ...present({ at: nextOccurrenceAt }) },
    details: told ? [`Its last occurrence: ${told.summary}`, ...told.details] : ['It has not run yet.'],
  }
}

const TITLES: Readonly<Record<Schedule['state'], string>> = { active: 'Waiting', paused: 'Paused', ended: 'Ended' }

const WITHOUT_NEXT: Readonly<Record<Schedule['state'], string>> = {
  active: 'it has no further occurrence',
  paused: 'its schedule is paused and makes no occurrence until it is resumed',
  ended: 'its schedule has ended and makes no further occurrence',
}

const sentence = (words: string): string => `${words[0]!.toUpperCase()}${words.slice(1)}.`
