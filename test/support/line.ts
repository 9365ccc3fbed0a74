import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

/** A line to a PostgreSQL server that a test can cut, or make silent. */
export class Line {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #silent = false
  #down = false
  #cuts = 0
  /** Answers to a COMMIT that never arrived. */
  lost = 0

  private constructor(port: number) {
    this.#server = createServer(client => this.#join(client, connect(port, '127.0.0.1')))
  }

  static async to(url: string): Promise<Line> {
    const line = new Line(Number(new URL(url).port))
    line.#server.listen(0, '127.0.0.1')
    await once(line.#server, 'listening')
    return line
  }

  /** The same address, through this line. */
  url(url: string): string {
    const through = new URL(url)
    through.port = String((this.#server.address() as { port: number }).port)
    return through.href
  }

  /** So many times from now on, the server commits and its answer does not arrive. */
  loseAnswers(count = 1): void {
    this.#cuts = count
  }

  /** Nothing gets through any more, and nobody is told. */
  fallSilent(): void {
    this.#silent = true
  }

  /** What comes from now on gets through; what was lost stays lost. */
  speakAgain(): void {
    this.#silent = false
    this.cut()
  }

  /** Nobody answers any more, and whoever comes is turned away. */
  goDown(): void {
    this.#down = true
    this.cut()
  }

  comeUp(): void {
    this.#down = false
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
      if (this.#cuts > 0 && data.includes('COMMIT\0')) {
        this.#cuts -= 1
        this.lost += 1
        client.destroy()
      } else client.write(data)
    })
  }
}
