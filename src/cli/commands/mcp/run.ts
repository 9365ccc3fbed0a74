import { userInfo } from 'node:os'
import { Readable, Writable } from 'node:stream'
import { Rest } from '../../../client/rest.js'
import { present } from '../../../core/values/present.js'
import { systemClock, systemDice } from '../../../engine/time/system.js'
import type { Endpoint } from '../../../server/endpoint.js'
import { checked } from '../../../server/http/perform.js'
import { loadSdk, mcpServer } from '../../../server/mcp/protocol.js'
import type { ToolInput } from '../../../server/mcp/tool.js'
import { logOf, openStore, ready } from '../../backend/direct.js'
import { HINTS } from '../../backend/hints.js'
import { type AddressOptions, addressIn, configOf } from '../../backend/store-address.js'
import type { Config } from '../../config/load.js'
import type { Io } from '../../io.js'

interface McpFlags extends AddressOptions {
  readonly allowWrites?: true
  readonly log?: true
}

/** Serves until the client closes stdin or the process gets a signal. */
export async function serveMcp(flags: McpFlags, io: Io): Promise<void> {
  const { StdioServerTransport } = await loadSdk(() => import('@modelcontextprotocol/sdk/server/stdio.js'))
  const api = await openApi(await configOf(flags, io), flags, io)
  try {
    const server = await mcpServer({
      act: (endpoint, input) => api.rest.call(...requestOf(endpoint, input)),
      allowWrites: flags.allowWrites ?? false,
      toAllowWrites: 'start `chronos mcp` with --allow-writes',
    })
    const source = io.stdin?.() ?? []
    // Only the stream of the process itself can be closed while it waits for input.
    const stdin = source instanceof Readable ? source : Readable.from(source)
    const ended = new Promise<void>(resolve => {
      stdin.once('end', resolve).once('error', () => resolve())
      io.interrupted.addEventListener('abort', () => resolve(), { once: true })
    })
    await server.connect(new StdioServerTransport(stdin, outputOf(io)))
    await ended
    await server.close()
    stdin.destroy()
  } finally {
    await api.close()
  }
}

interface Api {
  readonly rest: Rest
  close(): Promise<void>
}

/** The REST API of a server; that of a store is answered in this process, so that the same checks apply. */
async function openApi(config: Config, { log }: McpFlags, io: Io): Promise<Api> {
  const common = { clock: systemClock, dice: systemDice, hints: HINTS }
  const address = addressIn(config)
  if (address.kind === 'server') {
    return { rest: new Rest({ url: address.url, token: address.token, ...common }), close: async () => undefined }
  }
  await ready(address, io, 'existing')
  const [{ createChronos }, { createServer }] = await Promise.all([
    import('../../../index.js'),
    import('../../../server.js'),
  ])
  const engineLog = log ? await logOf(config.settings) : false
  const chronos = createChronos({
    store: await openStore(address),
    log: engineLog,
    ...present({ retry: config.settings.retry }),
  })
  const server = createServer(chronos, {
    // A dry run needs the role of the change; the tools themselves keep to --allow-writes.
    authorize: () => ({ name: `${userInfo().username} (MCP)`, role: 'operator' }),
    maintenance: false,
    dashboard: false,
    log: engineLog,
  })
  const fetch = (url: string | URL | Request, init?: RequestInit): Promise<Response> =>
    server.fetch(new Request(url, init))
  return {
    rest: new Rest({ url: 'http://localhost', ...common, fetch }),
    async close() {
      await server.close()
      await chronos.close()
    },
  }
}

function requestOf(endpoint: Endpoint, { params, query, body }: ToolInput): Parameters<Rest['call']> {
  const named = checked(endpoint.params, params, 'path') as Readonly<Record<string, unknown>>
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(String(named[name])))
  const { method, creates, takesLong } = endpoint
  return [method, path, present({ query, body, creates: creates !== undefined, takesLong })]
}

const outputOf = ({ stdout }: Io): Writable =>
  new Writable({
    write(chunk: Buffer, _encoding, done) {
      stdout.write(chunk.toString('utf8'))
      done()
    },
  })
