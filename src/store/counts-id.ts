/** Counts per minute cover the last days, counts per hour the months before. */
export type Resolution = '1m' | '1h'
export const RESOLUTIONS: readonly Resolution[] = ['1m', '1h']
export const RESOLUTION_MS: Readonly<Record<Resolution, number>> = { '1m': 60_000, '1h': 3_600_000 }

/** The last start of each resolution as text: a fold asks for the same minute and hour again and again. */
const lastStarts: Record<Resolution, { readonly start: number; readonly text: string }> = {
  '1m': { start: Number.NaN, text: '' },
  '1h': { start: Number.NaN, text: '' },
}

/** The id of the counts for a queue and a name within a minute or an hour. Ids sort by time. */
export function countsId(resolution: Resolution, at: number, queueAndName = ''): string {
  const start = Math.floor(at / RESOLUTION_MS[resolution]) * RESOLUTION_MS[resolution]
  if (lastStarts[resolution].start !== start)
    lastStarts[resolution] = { start, text: `${resolution} ${new Date(start).toISOString().slice(0, 16)}Z ` }
  return lastStarts[resolution].text + queueAndName
}

/** The parts of such an id. A queue has no space in its name; a job may have some. */
export function placeOfCounts(id: string): { readonly at: number; readonly queue: string; readonly name: string } {
  const [, at = '', queue = '', ...words] = id.split(' ')
  return { at: Date.parse(at), queue, name: words.join(' ') }
}
