import { countText, many } from '../values/number.js'
import { formatRate, perSecondOf, type Rate } from '../values/rate.js'
import type { Limit, PartitionLimits } from './limits.js'

/** `90,000/m`: the number as people read it, in the unit that was given. */
export function paceText(rate: Rate | string): string {
  const [number = '', unit = ''] = (typeof rate === 'string' ? rate : formatRate(perSecondOf(rate))).split('/')
  return `${countText(Number(number))}/${unit}`
}

/** `at most 40 jobs at a time, 500/m (20 at once), 90,000/m tokens` */
export function limitWords({ concurrency, rate, burst, units = {} }: Limit): string {
  const parts: string[] = []
  if (concurrency !== undefined) parts.push(`at most ${many(concurrency, 'job')} at a time`)
  if (rate !== undefined) parts.push(`${paceText(rate)}${burst === undefined ? '' : ` (${countText(burst)} at once)`}`)
  for (const [unit, amount] of Object.entries(units)) parts.push(`${paceText(amount)} ${unit}`)
  return parts.join(', ')
}

/** The same for each partition: `one by one in order, stopped by a dead letter`. */
export function partitionLimitWords(limits: PartitionLimits): string {
  const { order, onDead, fair, learn, override = {}, ...own } = limits
  const parts: string[] = []
  if (order === 'fifo') parts.push(`one by one in order${onDead === 'stop' ? ', stopped by a dead letter' : ''}`)
  const { concurrency, ...rates } = own
  const words = limitWords(order === 'fifo' ? rates : own)
  if (words !== '') parts.push(words)
  if (learn) parts.push('lowered by responses')
  if (fair && parts.length === 0) parts.push('they take turns')
  const many = Object.keys(override).length
  if (many > 0) parts.push(`${many} with ${many === 1 ? 'a limit' : 'limits'} of ${many === 1 ? 'its' : 'their'} own`)
  return parts.join('; ')
}
