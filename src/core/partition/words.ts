import { formatRate, perSecondOf, type Rate } from '../values/rate.js'
import type { Limit, PartitionLimits } from './limits.js'

const rateText = (rate: Rate): string => (typeof rate === 'string' ? rate : formatRate(perSecondOf(rate)))

/** `at most 40 jobs at a time, 500/m (20 at once), 90000/m tokens` */
export function limitWords({ concurrency, rate, burst, units = {} }: Limit): string {
  const parts: string[] = []
  if (concurrency !== undefined) parts.push(`at most ${concurrency} ${concurrency === 1 ? 'job' : 'jobs'} at a time`)
  if (rate !== undefined) parts.push(`${rateText(rate)}${burst === undefined ? '' : ` (${burst} at once)`}`)
  for (const [unit, amount] of Object.entries(units)) parts.push(`${rateText(amount)} ${unit}`)
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
