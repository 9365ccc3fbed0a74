import { describe, expect, test } from 'vitest'
import { cronWords } from '../../src/dashboard/screens/schedules/cron-words.js'

describe('cronWords', () => {
  test.each([
    ['* * * * *', 'Every minute'],
    ['*/5 * * * *', 'Every 5 minutes'],
    ['*/10 * * * * *', 'Every 10 seconds'],
    ['0 * * * *', 'Every hour'],
    ['@hourly', 'Every hour'],
    ['15 */6 * * *', 'Every 6 hours at minute 15'],
    ['30 2 * * *', 'At 02:30 every day'],
    ['0 9,17 * * *', 'At 09:00 and 17:00 every day'],
    ['0 0 9 * * MON', 'At 09:00 every Monday'],
    ['0 9 * * 1-5', 'At 09:00 on Monday to Friday'],
    ['0 9 * * mon,thu', 'At 09:00 on Monday and Thursday'],
    ['*/15 9-17 * * MON-FRI', 'Every 15 minutes from 09:00 to 17:59 on Monday to Friday'],
    ['0 8-18 * * *', 'Every hour from 08:00 to 18:00'],
    ['15 23 L * *', 'At 23:15 on the last day of every month'],
    ['0 0 1,15 * *', 'At 00:00 on the 1st and 15th of every month'],
    ['0 18 24 12 *', 'At 18:00 on the 24th of December'],
    ['0 0 13 * FRI', 'At 00:00 on the 13th of the month, or every Friday'],
    ['0 0 * JUL *', 'At 00:00 in July'],
    ['@weekly', 'At 00:00 every Sunday'],
  ])('%s: %s', (expression, words) => {
    expect(cronWords(expression)).toBe(words)
  })

  // "Every 7 minutes" would be wrong, because the count restarts with each hour.
  test.each(['*/7 * * * *', '0 */5 * * *', '7-47/13 3,15 1,15 */2 TUE', '0 0 * * FRI#2', '0 9 * *', 'nonsense', ''])(
    'has no words for %s',
    expression => {
      expect(cronWords(expression)).toBeUndefined()
    },
  )
})
