import { ChronosError } from '../../core/values/error.js'

/** The part of a nodemailer transport that Chronos uses; any other with this function will do. */
export interface MailTransport {
  sendMail(message: Mail): Promise<unknown>
}

export interface Mail {
  readonly from: string
  readonly to: readonly string[]
  readonly subject: string
  readonly text: string
  /** The same however often it is sent. */
  readonly messageId: string
}

interface Nodemailer {
  createTransport(options: object): MailTransport
}

const CONNECT_MS = 10_000
const SILENT_MS = 30_000
/** Where mail is taken from programs, with and without TLS from the first byte. */
const PORTS = { 'smtps:': 465, 'smtp:': 587 } as const

export function parseSmtp(value: unknown, where: string): URL {
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined
  if (url && url.protocol in PORTS && url.hostname !== '') return url
  // What was given may hold a password.
  throw new ChronosError('INVALID_OPTION', `${where}: expected smtp://user:password@host:587 or smtps://…`)
}

/** Over SMTP, with nodemailer: loaded when the first mail is sent. */
export async function openMail(url: URL, load: () => Promise<unknown> = loadNodemailer): Promise<MailTransport> {
  const nodemailer = await loaded(load)
  const secure = url.protocol === 'smtps:'
  const [user, pass] = [decodeURIComponent(url.username), decodeURIComponent(url.password)]
  return nodemailer.createTransport({
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? PORTS[url.protocol as keyof typeof PORTS] : Number(url.port),
    secure,
    ...(user !== '' && { auth: { user, pass } }),
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: SILENT_MS,
    // What an alert says comes from jobs: it is text, and never the name of a file to send.
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

/** By a name that no compiler looks up: most who use Chronos do not have it, and need not. */
function loadNodemailer(): Promise<unknown> {
  const name = 'nodemailer'
  return import(name)
}

async function loaded(load: () => Promise<unknown>): Promise<Nodemailer> {
  try {
    const module = (await load()) as Partial<Nodemailer> & { readonly default?: Nodemailer }
    return (module.default ?? module) as Nodemailer
  } catch (cause) {
    const wayOut = 'install it (`npm install nodemailer`), or give the channel a transport of your own'
    throw new ChronosError('INVALID_OPTION', `alerts: e-mail needs the package nodemailer; ${wayOut}`, { cause })
  }
}
