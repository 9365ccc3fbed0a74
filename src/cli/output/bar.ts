import { paint, type Style, type Tone } from './print.js'

export interface BarPart {
  readonly value: number
  readonly symbol: string
  readonly ascii: string
  readonly tone: Tone
}

const REST = { symbol: '░', ascii: '.', tone: 'dim' } as const

/** A bar of several parts. A part that is not zero gets at least one cell if there is room. */
export function bar(parts: readonly BarPart[], whole: number, columns: number, style: Style): string {
  let left = columns
  const drawn = parts.map(({ value, symbol, ascii, tone }) => {
    const exact = (value / Math.max(1, whole)) * columns
    const cells = Math.min(left, value > 0 ? Math.max(1, Math.floor(exact)) : 0)
    left -= cells
    return paint((style.unicode ? symbol : ascii).repeat(cells), tone, style)
  })
  return drawn.join('') + paint((style.unicode ? REST.symbol : REST.ascii).repeat(left), REST.tone, style)
}
