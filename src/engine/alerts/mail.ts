import { ChronosError } from '../../core/values/error.js'
import { flaw, schema } from '../../core/values/schema.js'

/** The part of a nodemailer transport that Chronos uses; any object with this function works. */
export interface MailTransport {
  sendMail(message: Mail): Promise<unknown>
}

export interface Mail {
  readonly from: string
  readonly to: readonly string[]
  readonly subject: string
  readonly text: string
  /** The same for every attempt. */
  readonly messageId: string
}

interface Nodemailer {
  createTransport(options: object): MailTransport
}

const CONNECT_MS = 10_000
const SILENT_MS = 30_000
/** The ports of mail submission with implicit TLS and with STARTTLS. */
const PORTS = { 'smtps:': 465, 'smtp:': 587 } as const

/** The error does not show the value, which may contain a password. */
export const smtp = schema<string>({
  kinds: ['string'],
  expects: 'smtp://user:password@host:587 or smtps://…',
  check(given) {
    const url = typeof given === 'string' && URL.canParse(given) ? new URL(given) : undefined
    if (url && url.protocol in PORTS && url.hostname !== '') return given as string
    throw flaw(`expected ${smtp.expects}`)
  },
})

/** Sends over SMTP with nodemailer, which is loaded for the first mail. */
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
    // The text of an alert comes from jobs and must not name a file to attach.
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

/** Imported by a computed name, so that compilers do not require the package: most applications do not have it. */
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
