import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import { paint, type Style, styleOf, table } from '../../../src/cli/output/print.js'
import { cut, oneLine, padEnd, padStart, widthOf, wrap } from '../../../src/cli/output/width.js'

const PIPE: Style = { colour: false, boxes: false, unicode: true, columns: Number.POSITIVE_INFINITY }
const TERMINAL: Style = { colour: true, boxes: true, unicode: true, columns: 80 }
const PLAIN_TERMINAL: Style = { ...TERMINAL, colour: false }

const COLUMNS = [{ title: 'Job' }, { title: 'Took', align: 'right' }, { title: 'Notes', wraps: true }] as const

describe('table', () => {
  it('is aligned text in a pipe, without trailing spaces', () => {
    const rows = [
      ['send-welcome-email', '89ms', 'Email delivered'],
      ['charge-card', '2s', ''],
    ]
    expect(table(COLUMNS, rows, PIPE)).toBe(
      [
        'Job                 Took  Notes',
        'send-welcome-email  89ms  Email delivered',
        'charge-card           2s',
        '',
      ].join('\n'),
    )
  })

  it('has boxes on a terminal', () => {
    expect(table(COLUMNS, [['a', '2s', 'x']], PLAIN_TERMINAL)).toBe(
      [
        '┌─────┬──────┬───────┐',
        '│ Job │ Took │ Notes │',
        '├─────┼──────┼───────┤',
        '│ a   │   2s │ x     │',
        '└─────┴──────┴───────┘',
        '',
      ].join('\n'),
    )
  })

  it('has the same width with and without colours', () => {
    const rows = [[{ text: 'dead', tone: 'bad' } as const, '1s', 'x']]
    const coloured = table(COLUMNS, rows, TERMINAL)
    expect(coloured).toContain('\u001b[31mdead\u001b[39m')
    expect(stripVTControlCharacters(coloured)).toBe(table(COLUMNS, rows, PLAIN_TERMINAL))
  })

  it('wraps notes at the width of the terminal', () => {
    const rows = [['a', '2s', 'its worker was lost while it ran alone (strike 1 of 3)']]
    expect(table(COLUMNS, rows, { ...PLAIN_TERMINAL, columns: 40 })).toBe(
      [
        '┌─────┬──────┬─────────────────────────┐',
        '│ Job │ Took │ Notes                   │',
        '├─────┼──────┼─────────────────────────┤',
        '│ a   │   2s │ its worker was lost     │',
        '│     │      │ while it ran alone      │',
        '│     │      │ (strike 1 of 3)         │',
        '└─────┴──────┴─────────────────────────┘',
        '',
      ].join('\n'),
    )
  })

  it('never wraps in a pipe', () => {
    expect(table(COLUMNS, [['a', '2s', 'word '.repeat(100)]], PIPE).split('\n')).toHaveLength(3)
  })

  it('gives wide characters two columns', () => {
    const lines = table(
      [{ title: 'Name' }, { title: 'N' }],
      [
        ['日本語', '1'],
        ['👩‍👩‍👧', '2'],
        ['é', '3'],
      ],
      PLAIN_TERMINAL,
    )
      .trimEnd()
      .split('\n')
    expect(lines.map(widthOf)).toEqual(lines.map(() => 14))
  })

  it('escapes control characters in cells', () => {
    const evil = 'a\u001b[31mred\u001b[0m\r\nb\u0007\u009b2Jc\u202Ed\u0000\te'
    const text = table([{ title: 'Name' }], [[evil]], PIPE)
    expect(text).toBe('Name\nared b cd e\n')
  })

  it('keeps dollar signs, which are special in replacement patterns', () => {
    expect(table([{ title: 'Name' }], [["$& $' $1"]], PIPE)).toBe("Name\n$& $' $1\n")
  })

  it('prints only the header if there are no rows', () => {
    expect(table([{ title: 'Name' }], [], PIPE)).toBe('Name\n')
  })

  it('respects the minimum width of a column', () => {
    expect(table([{ title: 'A', min: 6 }, { title: 'B' }], [['x', 'y']], PIPE)).toBe('A       B\nx       y\n')
  })
})

describe('style', () => {
  const terminal = { write: () => true, isTTY: true, columns: 100 }
  const pipe = { write: () => true }

  it.each([
    ['a terminal', terminal, {}, { colour: true, boxes: true, unicode: true, columns: 100 }],
    ['a pipe', pipe, {}, { colour: false, boxes: false, unicode: true, columns: Number.POSITIVE_INFINITY }],
    ['a terminal without colours', terminal, { NO_COLOR: '1' }, { colour: false, boxes: true }],
    ['an empty NO_COLOR, which has no effect', terminal, { NO_COLOR: '' }, { colour: true }],
    ['a pipe with forced colours', pipe, { FORCE_COLOR: '1' }, { colour: true, boxes: false }],
    ['colours both forced and refused', terminal, { FORCE_COLOR: '1', NO_COLOR: '1' }, { colour: false }],
    ['colours forced off', terminal, { FORCE_COLOR: '0' }, { colour: false }],
    ['a dumb terminal', terminal, { TERM: 'dumb' }, { colour: false, boxes: false, unicode: false }],
    ['the Linux console', terminal, { TERM: 'linux' }, { colour: true, boxes: false, unicode: false }],
    ['a locale without Unicode', terminal, { LANG: 'C' }, { boxes: false, unicode: false }],
    ['a locale with Unicode', terminal, { LANG: 'C', LC_ALL: 'en_GB.UTF-8' }, { boxes: true, unicode: true }],
    ['a terminal of unknown width', { ...terminal, columns: 0 }, {}, { columns: 80 }],
    ['a very narrow terminal', { ...terminal, columns: 3 }, {}, { columns: 40 }],
  ])('suits %s', (_, output, env, expected) => {
    expect(styleOf(output, env)).toMatchObject(expected)
  })

  it('adds no escape codes without colours or to empty text', () => {
    expect(paint('x', 'bad', PIPE)).toBe('x')
    expect(paint('', 'bad', TERMINAL)).toBe('')
    expect(paint('x', undefined, TERMINAL)).toBe('x')
    expect(paint('x', 'good', TERMINAL)).toBe('\u001b[32mx\u001b[39m')
  })
})

describe('width', () => {
  it.each([
    ['abc', 3],
    ['✓ ✗ ▸ ↻ ◷ ◌ ■ →', 15],
    ['日本', 4],
    ['ｆｕｌｌ', 8],
    ['한글', 4],
    ['e\u0301', 1],
    ['a\u200Bb', 2],
    ['🎉', 2],
    ['👨‍👩‍👧‍👦', 2],
    ['☠\uFE0F', 2],
  ])('counts the columns of %j: %i', (text, width) => {
    expect(widthOf(text)).toBe(width)
  })

  it.each([
    ['abcdef', 4, 'abc…'],
    ['abcd', 4, 'abcd'],
    ['日本語', 4, '日…'],
    ['ab cd', 4, 'ab…'],
    ['abc', 0, ''],
  ])('cuts %j at %i', (text, columns, expected) => {
    expect(cut(text, columns)).toBe(expected)
  })

  it.each([
    ['the quick brown fox', 10, ['the quick', 'brown fox']],
    ['abcdefghij klm', 4, ['abcd', 'efgh', 'ij', 'klm']],
    ['日本語日本語', 5, ['日本', '語日', '本語']],
    ['', 5, ['']],
  ])('wraps %j at %i', (text, columns, lines) => {
    expect(wrap(text, columns)).toEqual(lines)
  })

  it('pads by columns', () => {
    expect([padEnd('日', 4), padStart('日', 4), padEnd('abcde', 4)]).toEqual(['日  ', '  日', 'abcde'])
  })

  it('turns any text into one harmless line', () => {
    expect(oneLine('  a\n\n b\u001b]0;title\u0007c\u2066d  ')).toBe('a  bcd')
  })
})
