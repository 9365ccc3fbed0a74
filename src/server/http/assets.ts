import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join, relative, sep } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'

interface Asset {
  readonly body: Buffer
  /** Compressed when a browser first asks for it; undefined if its format is compressed already. */
  readonly compressed: (() => Promise<Buffer>) | undefined
  readonly type: string
  readonly hash: string
  /** The name contains a hash of the content, so the file never changes. */
  readonly isImmutable: boolean
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
}

/** Compression makes text much smaller. */
const IS_TEXT = /\.(html|js|css|svg|json|txt)$/
const LEVEL_MAX = 9

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "manifest-src 'self'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')

export interface AssetRequest {
  readonly ifNoneMatch: string | undefined
  readonly acceptEncoding: string | undefined
}

/** The files of the dashboard, read once into memory. */
export class Assets {
  readonly #files: ReadonlyMap<string, Asset>
  readonly #page: string | undefined

  private constructor(files: ReadonlyMap<string, Asset>, page: string | undefined) {
    this.#files = files
    this.#page = page
  }

  /** Without a folder, or with an empty one, there is no dashboard. */
  static async read(folder: string | undefined, basePath: string): Promise<Assets> {
    const files = new Map<string, Asset>()
    for (const path of folder === undefined ? [] : await filesIn(folder)) {
      const name = relative(folder!, path).split(sep).join('/')
      files.set(name, assetOf(name, await readFile(path)))
    }
    const page = files.get('index.html')?.body.toString('utf8')
    const base = `${basePath}/`
    const config = JSON.stringify({ base }).replaceAll('<', '\\u003c')
    return new Assets(files, page?.replaceAll('__CHRONOS_BASE__', base).replaceAll('__CHRONOS_CONFIG__', config))
  }

  get hasPage(): boolean {
    return this.#page !== undefined
  }

  /** The file of this name, or the page, which reads its route from the address. */
  async answer(name: string, asked: AssetRequest): Promise<Response | undefined> {
    const asset = name === 'index.html' ? undefined : this.#files.get(name)
    if (asset) return fileResponse(asset, asked)
    if (this.#page === undefined || isFileName(name)) return undefined
    return new Response(this.#page, {
      headers: {
        'Content-Type': TYPES['.html']!,
        'Content-Security-Policy': POLICY,
        'Cache-Control': 'no-store',
      },
    })
  }
}

/** Routes of the page may contain dots too: `queues/mail.v2`. */
function isFileName(name: string): boolean {
  return name.startsWith('assets/') || (!name.includes('/') && extname(name) !== '')
}

async function fileResponse(asset: Asset, { ifNoneMatch, acceptEncoding }: AssetRequest): Promise<Response> {
  const { body, compressed, type, hash, isImmutable } = asset
  const pack = acceptsGzip(acceptEncoding) ? compressed : undefined
  const etag = `"${hash}${pack ? '-gzip' : ''}"`
  const headers = {
    'Content-Type': type,
    'Content-Security-Policy': POLICY,
    'Cache-Control': isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
    ETag: etag,
    ...(compressed && { Vary: 'Accept-Encoding' }),
  }
  if (ifNoneMatch === etag) return new Response(null, { status: 304, headers })
  if (!pack) return new Response(new Uint8Array(body), { headers })
  return new Response(new Uint8Array(await pack()), { headers: { ...headers, 'Content-Encoding': 'gzip' } })
}

/** `gzip;q=0` refuses it. */
function acceptsGzip(acceptEncoding = ''): boolean {
  return acceptEncoding.split(',').some(each => /^\s*(gzip|\*)\s*(;\s*q=(1|0\.\d*[1-9]).*)?$/i.test(each))
}

function assetOf(name: string, body: Buffer): Asset {
  const hash = createHash('sha256').update(body).digest('hex').slice(0, 16)
  let compressed: Promise<Buffer> | undefined
  return {
    body,
    compressed: IS_TEXT.test(name) ? () => (compressed ??= promisify(gzip)(body, { level: LEVEL_MAX })) : undefined,
    type: TYPES[extname(name)] ?? 'application/octet-stream',
    hash,
    isImmutable: /^assets\/.+-[\w-]{8,}\.\w+$/.test(name),
  }
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  return entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
}
