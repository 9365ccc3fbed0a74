const NICKNAMES: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
}

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']
const MONTHS = 'January February March April May June July August September October November December'.split(' ')

/**
 * A cron expression in words: `At 09:00 every Monday`. Undefined for unusual expressions.
 */
export function cronWords(expression: string): string | undefined {
  const text = expression.trim().toLowerCase()
  const fields = (NICKNAMES[text] ?? text).split(/\s+/)
  const [second, minute, hour, day, month, weekday] = fields.length === 5 ? ['0', ...fields] : fields
  if (fields.length < 5 || fields.length > 6) return undefined
  const time = timeWords(second!, minute!, hour!)
  const days = dayWords(day!, month!, weekday!)
  if (time === undefined || days === undefined) return undefined
  const isDaily = days === '' && /^At \d/.test(time)
  return `${time}${isDaily ? ' every day' : days}`
}

function timeWords(second: string, minute: string, hour: string): string | undefined {
  if (minute === '*' && hour === '*' && !isNumber(second)) return everyWords(second, 'second', 60)
  if (!isNumber(second)) return undefined
  const seconds = second === '0' || second === '00' ? '' : `, ${Number(second)} s past`
  const hours = range(hour)
  if (isNumber(minute) && hours) {
    return `Every hour from ${clock(hours[0], minute)} to ${clock(hours[1], minute)}${seconds}`
  }
  if (hours) {
    const often = everyWords(minute, 'minute', 60)
    return often && `${often} from ${clock(hours[0], '0')} to ${clock(hours[1], '59')}${seconds}`
  }
  if (!isNumber(minute)) {
    const often = everyWords(minute, 'minute', 60)
    return hour === '*' ? often && `${often}${seconds}` : undefined
  }
  if (isList(hour)) {
    return `At ${listed(hour.split(',').map(each => clock(Number(each), minute)))}${seconds}`
  }
  const often = everyWords(hour, 'hour', 24)
  return often && `${often}${Number(minute) === 0 ? '' : ` at minute ${Number(minute)}`}${seconds}`
}

/** A step that does not divide the whole is not regular, so "every n" would be wrong. */
function everyWords(field: string, unit: string, whole: number): string | undefined {
  if (field === '*' || field === '*/1') return `Every ${unit}`
  const step = Number(/^(?:\*|0)\/(\d+)$/.exec(field)?.[1])
  return step > 1 && whole % step === 0 ? `Every ${step} ${unit}s` : undefined
}

function dayWords(day: string, month: string, weekday: string): string | undefined {
  const [onDay, onWeekday, inMonth] = [monthDay(day), weekdays(weekday), months(month)]
  if (onDay === undefined || onWeekday === undefined || inMonth === undefined) return undefined
  if (onDay !== '' && onWeekday !== '') return `${onDay} of the month, or${onWeekday}${inMonth}`
  if (onDay !== '') return `${onDay}${inMonth === '' ? ' of every month' : inMonth.replace(' in ', ' of ')}`
  return `${onWeekday}${inMonth}`
}

const isFree = (field: string): boolean => field === '*' || field === '?'

function monthDay(field: string): string | undefined {
  if (isFree(field)) return ''
  if (field === 'l') return ' on the last day'
  return isList(field) ? ` on the ${listed(field.split(',').map(ordinal))}` : undefined
}

function weekdays(field: string): string | undefined {
  if (isFree(field)) return ''
  const parts = field.split(',').map(part => part.split('-').map(nameOfDay))
  if (parts.flat().includes(undefined) || parts.some(part => part.length > 2)) return undefined
  if (parts.length === 1 && parts[0]!.length === 1) return ` every ${parts[0]![0]}`
  const words = parts.map(([from, to]) => (to === undefined ? from! : `${from} to ${to}`))
  return ` on ${listed(words)}`
}

function nameOfDay(text: string): string | undefined {
  return /^[0-7]$/.test(text) ? DAYS[Number(text)] : named(text, DAYS)
}

function months(field: string): string | undefined {
  if (isFree(field)) return ''
  const names = field.split(',').map(part => (isNumber(part) ? MONTHS[Number(part) - 1] : named(part, MONTHS)))
  return names.includes(undefined) ? undefined : ` in ${listed(names as string[])}`
}

const named = (text: string, names: readonly string[]): string | undefined =>
  /^[a-z]{3}$/.test(text) ? names.find(name => name.toLowerCase().startsWith(text)) : undefined

const isNumber = (field: string): boolean => /^\d{1,2}$/.test(field)
const isList = (field: string): boolean => /^\d{1,2}(,\d{1,2}){0,5}$/.test(field)

function range(field: string): readonly [number, number] | undefined {
  const found = /^(\d{1,2})-(\d{1,2})$/.exec(field)
  return found ? [Number(found[1]), Number(found[2])] : undefined
}

const two = (value: number): string => String(value).padStart(2, '0')
const clock = (hour: number, minute: string): string => `${two(hour)}:${two(Number(minute))}`

function ordinal(text: string): string {
  const n = Number(text)
  const isTeen = n >= 11 && n <= 13
  return `${n}${isTeen ? 'th' : (['th', 'st', 'nd', 'rd'][n % 10] ?? 'th')}`
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`
}
