import { createSocket } from 'node:dgram'
import { Resolver } from 'node:dns/promises'
import { once } from 'node:events'
import type { Lookup } from '../../../src/engine/egress/rules.js'

const TYPE_A = 1
const NO_SUCH_NAME = 3
const TEST_PORT_ANY = 0

export interface TestResolver {
  readonly lookup: Lookup
  readonly asked: number
  [Symbol.asyncDispose](): Promise<void>
}

/** A DNS server of our own, on UDP, that answers as it is told with a time to live of zero; no answers: no such name. */
export async function startResolver(
  answers: (name: string, asked: number) => readonly string[],
): Promise<TestResolver> {
  const socket = createSocket('udp4')
  let asked = 0
  socket.on('message', (query, from) => {
    socket.send(reply(query, answers(nameIn(query), asked++)), from.port, from.address)
  })
  socket.bind(TEST_PORT_ANY, '127.0.0.1')
  await once(socket, 'listening')
  const resolver = new Resolver({ timeout: 2_000, tries: 1 })
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  return {
    lookup: name => resolver.resolve4(name),
    get asked() {
      return asked
    },
    async [Symbol.asyncDispose]() {
      socket.close()
      await once(socket, 'close')
    },
  }
}

const HEADER_BYTES = 12

function nameIn(query: Buffer): string {
  const labels: string[] = []
  for (let at = HEADER_BYTES; query[at] !== 0; at += query[at]! + 1) {
    labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!))
  }
  return labels.join('.')
}

function reply(query: Buffer, addresses: readonly string[]): Buffer {
  const questionEnd = query.indexOf(0, HEADER_BYTES) + 5
  const header = Buffer.from(query.subarray(0, HEADER_BYTES))
  header.writeUInt16BE(0x8180 | (addresses.length === 0 ? NO_SUCH_NAME : 0), 2)
  header.writeUInt16BE(addresses.length, 6)
  header.fill(0, 8)
  const records = addresses.map(address => {
    const record = Buffer.alloc(16)
    record.writeUInt16BE(0xc000 | HEADER_BYTES, 0) // the name in the question
    record.writeUInt16BE(TYPE_A, 2)
    record.writeUInt16BE(1, 4) // the internet
    record.writeUInt16BE(4, 10)
    record.set(address.split('.').map(Number), 12)
    return record
  })
  return Buffer.concat([header, query.subarray(HEADER_BYTES, questionEnd), ...records])
}
