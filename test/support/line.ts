import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** The end of a statement that was a transaction by itself: the server is idle after it. */
const ALONE = /(?:INSERT|SELECT|UPDATE|DELETE)[ \d]*\0Z\0{3}.I/s
/** A part of the response to the first query of a connection, which only sets the session. */
const SETTINGS = 'read committed'

function endsTransaction(data: Buffer): boolean {
  if (data.includes('COMMIT\0')) return true
  return !data.includes(SETTINGS) && ALONE.test(data.toString('latin1'))
}

/** A connection to a PostgreSQL server that a test can cut, or silence. */
export class Line {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #port: number
  #silent = false
  #down = false
  #cuts = 0
  /** The number of responses to a commit that never arrived. */
  lost = 0

  private constructor(port: number) {
    this.#port = port
    this.#server = createServer(client => this.#join(client, connect(this.#port, '127.0.0.1')))
  }

  static async to(url: string): Promise<Line> {
    const line = new Line(Number(new URL(url).port))
    line.#server.listen(0, '127.0.0.1')
    await once(line.#server, 'listening')
    return line
  }

  /** The same address, through this connection. */
  url(url: string): string {
    const through = new URL(url)
    through.port = String((this.#server.address() as { port: number }).port)
    return through.href
  }

  /** For the next so many commits, the server commits and its response does not arrive. */
  loseAnswers(count = 1): void {
    this.#cuts = count
  }

  /** Drops everything from now on, without closing a connection. */
  fallSilent(): void {
    this.#silent = true
  }

  /** Lets new data through; lost data stays lost. */
  speakAgain(): void {
    this.#silent = false
    this.cut()
  }

  /** Closes every connection and refuses new ones. */
  goDown(): void {
    this.#down = true
    this.cut()
  }

  comeUp(): void {
    this.#down = false
  }

  /** New connections lead to another server. */
  leadTo(url: string): void {
    this.#port = Number(new URL(url).port)
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy()
  }

  close(): void {
    this.cut()
    this.#server.close()
  }

  #join(client: Socket, server: Socket): void {
    if (this.#down) {
      client.destroy()
      server.destroy()
      return
    }
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        this.#sockets.delete(socket)
        client.destroy()
        server.destroy()
      })
    }
    client.on('data', data => {
      if (!this.#silent) server.write(data)
    })
    server.on('data', data => {
      if (this.#silent) return
      if (this.#cuts > 0 && endsTransaction(data)) {
        this.#cuts -= 1
        this.lost += 1
        client.destroy()
      } else client.write(data)
    })
  }
}
