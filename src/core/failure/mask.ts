/**
 * Removes the variable parts of a message: `user 17 not found` and `user 23 not found` are the same error. Masking a
 * masked text changes nothing.
 */
export function maskMessage(message: string): string {
  let text = message.slice(0, READ_MAX).replace(/\p{Surrogate}/gu, '\uFFFD')
  for (let pass = 0; pass < PASSES_MAX; pass++) {
    const next = cut(mask(text.replace(/\s+/g, ' ').trim()).replace(REPEATED, '$1'))
    if (next === text) break
    text = next
  }
  return text
}

const READ_MAX = 2_000
export const MASKED_LENGTH_MAX = 240
/** Cutting may expose another part to cut, so this repeats until nothing changes, usually twice. */
const PASSES_MAX = 8

/** The length of a list varies; the kind of its items does not. */
const REPEATED = /(<[a-z]{1,8}>)(?:[,;|]? ?\1)+/g

/** The variable parts, in the order in which they are tried at each position. Each begins at a word boundary. */
const PARTS = {
  masked: '<[a-z]{1,8}>',
  url: '(?<![\\w])[a-zA-Z][a-zA-Z0-9+.-]{1,15}://[^\\s"\'`<>(){}|\\\\^…]+…?',
  email: '(?<![\\w.+-])[\\w.+-]{1,64}@[\\w-]{1,63}(?:\\.[\\w-]{1,63})+',
  quoted: '"[^"]*"|`[^`]*`|“[^”]*”|«[^»]*»|‘[^’]*’|(?<![\\p{L}\\p{N}])\'[^\']*\'(?![\\p{L}\\p{N}])',
  value: '=\\([^()]*\\)',
  uuid: '(?<![\\w])[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}(?![\\w])',
  time: [
    '(?<![\\w])\\d{4}-\\d{2}-\\d{2}(?:[T ]\\d{2}:\\d{2}(?::\\d{2}(?:[.,]\\d{1,9})?)?(?: ?(?:Z|UTC|[+-]\\d{2}:?\\d{2}))?)?(?![\\w])',
    '(?<![\\w])(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? (?:\\d{1,2} [A-Z][a-z]{2}|[A-Z][a-z]{2} \\d{1,2}) \\d{4} \\d{2}:\\d{2}:\\d{2}(?: GMT(?:[+-]\\d{4})?(?: \\([^()]{1,60}\\))?)?',
    '(?<![\\w:])\\d{1,2}:\\d{2}:\\d{2}(?:[.,]\\d{1,9})?(?![\\w:])',
  ].join('|'),
  ip: [
    '(?<![\\w.])\\d{1,3}(?:\\.\\d{1,3}){3}(?::\\d{1,5})?(?![\\w.]*\\w)',
    '\\[?(?<![\\w:])(?=[0-9a-fA-F:.]*\\d)(?:[0-9a-fA-F]{1,4})?(?::[0-9a-fA-F]{0,4}){2,7}(?:\\]:\\d{1,5}|\\])?(?![\\w:])',
  ].join('|'),
  path: '(?<![\\w.<>/…-])(?:~|\\.{1,2})?(?:/[\\w.@%+~$-]+)+/?|(?<![\\w])[A-Za-z]:\\\\[^\\s"\'<>|]*',
  duration:
    '(?<![\\w.])\\d+(?:\\.\\d+)? ?(?:[nuµm]?s|secs?|seconds?|mins?|minutes?|m|h|hrs?|hours?|d|days?|millis(?:econds)?|milliseconds?)(?![\\w])',
  number:
    '(?<![\\p{L}\\p{N}_$-])[-+]?\\d{1,3}(?:,\\d{3})+(?:\\.\\d+)?(?![\\w])|(?<![\\p{L}\\p{N}_$-])[-+]?\\d+\\.\\d+(?![\\w.])',
  word: '(?<![\\p{L}\\p{N}_$-])[\\p{L}\\p{N}_$-]*\\p{N}[\\p{L}\\p{N}_$-]*',
} as const

type Part = keyof typeof PARTS

const PART_NAMES = Object.keys(PARTS) as Part[]

/** One unnamed group per part, in the same order: named groups take twice as long to match. */
const PATTERN = new RegExp(
  Object.values(PARTS)
    .map(pattern => `(${pattern})`)
    .join('|'),
  'gu',
)

function mask(text: string): string {
  return text.replace(PATTERN, (found: string, ...rest: unknown[]) => {
    const part = PART_NAMES[rest.findIndex(group => group !== undefined)]!
    return replaced(part, found, text, rest[PART_NAMES.length] as number)
  })
}

function replaced(part: Part, found: string, text: string, offset: number): string {
  switch (part) {
    case 'masked':
      return found
    case 'url':
      return hostOf(found)
    case 'quoted':
      return found[0] + quotedOf(found.slice(1, -1), text, offset, offset + found.length) + found.at(-1)
    case 'value':
      return `=(${withoutValue(found.slice(2, -1))})`
    case 'uuid':
      return '<id>'
    case 'word':
      return wordOf(found)
    case 'number':
      return '<n>'
    default:
      return `<${part}>`
  }
}

/** Keeps the host of a URL and drops the path, the query and the credentials. */
function hostOf(url: string): string {
  const [, scheme = '', rest = ''] = /^([^:]+:\/\/)(.*)$/.exec(url) ?? []
  const authority = /^[^/?#]*/.exec(rest)![0]
  const host = authority.slice(authority.lastIndexOf('@') + 1).replace(/:\d*$/, '')
  const more = rest.length > authority.length
  return scheme + (/^\d+(?:\.\d+){3}$/.test(host) ? '<ip>' : host) + (more ? '/…' : '')
}

/** Masks a quoted value, but keeps a quoted identifier of code or database, because it distinguishes errors. */
function quotedOf(inner: string, text: string, start: number, end: number): string {
  const before = text.slice(Math.max(0, start - CONTEXT), start)
  const isName = IDENTIFIER.test(inner) && names(inner, before, text.slice(end, end + 2))
  return isName ? inner : withoutValue(inner)
}

function withoutValue(inner: string): string {
  if (inner === '' || HAS_MASK.test(inner)) return inner.includes(' ') ? '<text>' : inner
  const masked = inner.includes(' ') ? inner : mask(inner)
  return masked === inner ? '<text>' : masked
}

const HAS_MASK = /<[a-z]{1,8}>|…/
const IDENTIFIER = /^[\p{L}_$][\p{L}_$.-]{0,63}$/u
const CONTEXT = 80
const CODE_SHAPED = /_|\p{Ll}\p{Lu}/u
const NAMES =
  /\b(?:reading|setting|property|properties|column|constraint|relation|table|index|type|function|method|field|argument|parameter|option|attribute|module|package|class|schema|database|role|enum|operator|variable|identifier)["']?[\s:=(]{0,3}$/i
/** For a list of issues as validators print it, keeps the codes and paths, which distinguish errors. */
const ISSUES = /"(?:code|expected|received|type|keyword|validation)" ?: ?$|"path" ?: ?\[[^\]]{0,70}$/

function names(inner: string, before: string, after: string): boolean {
  const isKey = /[{,] ?$/.test(before) && /^ ?:/.test(after)
  return isKey || CODE_SHAPED.test(inner) || NAMES.test(before) || ISSUES.test(before)
}

/** Words that contain digits by nature. */
const KNOWN =
  /^(?:utf-?8|utf16|sha-?(?:1|256|384|512)|md5|base64|http[123]|ipv[46]|oauth2|x509|s3|ec2|k8s|i18n|v[0-9])$/i

/** Turns `cus_9s6XKzkN` into `cus_<id>`: the kind of thing matters, the particular one does not. */
function wordOf(word: string): string {
  if (/^[-+]?\d+$/.test(word)) return '<n>'
  if (/^(?:0x)?[0-9a-f]{8,}$/i.test(word)) return '<hex>'
  const pieces = word.split(/(?<=[_-])/)
  const first = pieces.findIndex(piece => /\p{N}/u.test(piece) && !KNOWN.test(piece.replace(/[_-]$/, '')))
  if (first < 0 || KNOWN.test(word)) return word
  return `${pieces.slice(0, first).join('')}${/^[\p{N}-]+$/u.test(pieces.slice(first).join('')) ? '<n>' : '<id>'}`
}

function cut(text: string): string {
  if (text.length <= MASKED_LENGTH_MAX) return text
  const end = text.charCodeAt(MASKED_LENGTH_MAX - 2)
  const split = end >= 0xd800 && end <= 0xdbff ? MASKED_LENGTH_MAX - 2 : MASKED_LENGTH_MAX - 1
  return `${text.slice(0, split)}…`
}
