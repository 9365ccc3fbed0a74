import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'

/** A server that responds at once, in its own process so that it does not use the event loop that is measured. */
export async function openTarget() {
  const child = fork(fileURLToPath(import.meta.url), ['serve'], { stdio: 'inherit' })
  const [port] = await once(child, 'message')
  return { url: `http://127.0.0.1:${port}/`, close: () => child.kill() }
}

if (process.argv[2] === 'serve') {
  const server = createServer((request, response) => {
    request.resume()
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end('{"ok":true}')
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1', () => {
    const address = server.address()
    if (address !== null && typeof address === 'object') process.send?.(address.port)
  })
}
