// Opens many event streams from one process, and reports how many are open and how many received a change.
import { connect } from 'node:net'
import './orphan.js'

const [port = '', count = ''] = process.argv.slice(2)
if (!port || !count) throw new Error('usage: listeners.js PORT COUNT')

const AT_ONCE = 200
let open = 0
let refused = 0
let told = 0

/** @returns {Promise<void>} */
function listen() {
  return new Promise(resolve => {
    const socket = connect(Number(port), '127.0.0.1')
    let text = ''
    socket.on('error', () => resolve())
    socket.on('close', () => resolve())
    socket.on('data', chunk => {
      const isNew = !text.includes('event: hello')
      text = (text + String(chunk)).slice(-2_000)
      if (isNew && text.includes('event: hello')) {
        open++
        resolve()
      }
      if (isNew && text.includes('HTTP/1.1 503')) refused++
      if (text.includes('event: change')) {
        told++
        text = 'event: hello'
      }
    })
    socket.write(`GET /api/v1/events HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nAccept: text/event-stream\r\n\r\n`)
  })
}

process.on('message', () => process.send?.(`streams ${open} ${refused} ${told}`))
for (let made = 0; made < Number(count); made += AT_ONCE) {
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, Number(count) - made) }, listen))
}
process.send?.('ready')
