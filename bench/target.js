import { fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { fileURLToPath } from 'node:url'

/** A server in a process of its own that answers at once, so that it is nobody's event loop but its own. */
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
