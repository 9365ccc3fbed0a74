import { toast } from '../shell/toasts.js'
import { quoted } from './command.js'
import { apiUrl } from './http.js'

/** Copies text to the clipboard, with a fallback for pages that are not served over https. */
export async function copyText(text: string, what = 'Copied'): Promise<void> {
  const isDone = (await byClipboard(text)) || bySelection(text)
  if (isDone) toast({ text: what, tone: 'ok' })
  else toast({ text: 'The browser blocked access to the clipboard. Select the text and copy it.', tone: 'problem' })
}

async function byClipboard(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return false
  }
}

function bySelection(text: string): boolean {
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'off-screen'
  const place = document.querySelector('dialog[open]') ?? document.body
  place.append(area)
  area.select()
  try {
    return document.execCommand('copy')
  } catch {
    return false
  } finally {
    area.remove()
  }
}

export interface Sample {
  readonly curl: string
  readonly ts: string
  readonly cli: string
}

/** Longer data is written on several lines. */
const LINE_MAX = 70

/** A request as a curl command. */
export function asCurl(method: string, path: string, body?: unknown): string {
  const url = new URL(apiUrl(path), window.location.href).href
  const verb = method === 'GET' ? '' : ` -X ${method}`
  if (body === undefined) return `curl -s${verb} ${quoted(url)}`
  const short = JSON.stringify(body)
  const data = short.length <= LINE_MAX ? short : JSON.stringify(body, null, 2)
  return `curl -s${verb} ${quoted(url)} \\\n  -H 'content-type: application/json' \\\n  -d ${quoted(data)}`
}

/** A value as a TypeScript literal. */
export function asLiteral(value: unknown): string {
  return JSON.stringify(value, null, 2)
    .replace(/^(\s*)"([A-Za-z_$][\w$]*)":/gm, '$1$2:')
    .replace(/"((?:[^"\\]|\\.)*)"/g, (text, inner: string) =>
      inner.includes("'") ? text : `'${inner.replaceAll('\\"', '"')}'`,
    )
}
