import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { onTestFinished } from 'vitest'

export interface Outcome {
  readonly isError: boolean
  readonly text: string
  /** The result, read as JSON. */
  readonly data: () => Record<string, unknown>
}

/** The SDK's own client. */
export interface McpClient {
  readonly names: () => Promise<readonly string[]>
  readonly tools: () => Promise<Awaited<ReturnType<Client['listTools']>>['tools']>
  readonly call: (name: string, given?: Record<string, unknown>) => Promise<Outcome>
  readonly instructions: () => string | undefined
  readonly close: () => Promise<void>
}

export async function connected(transport: Transport): Promise<McpClient> {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(transport)
  onTestFinished(() => client.close())
  const tools = async (): ReturnType<McpClient['tools']> => (await client.listTools()).tools
  return {
    tools,
    names: async () => (await tools()).map(({ name }) => name),
    async call(name, given = {}) {
      const { content, isError = false } = await client.callTool({ name, arguments: given })
      const { text } = (content as { text: string }[])[0]!
      return { isError: isError === true, text, data: () => JSON.parse(text) as Record<string, unknown> }
    },
    instructions: () => client.getInstructions(),
    close: () => client.close(),
  }
}

export function overHttp(url: string, headers: Readonly<Record<string, string>> = {}): Promise<McpClient> {
  const transport = new StreamableHTTPClientTransport(new URL('mcp', url), { requestInit: { headers } })
  return connected(transport as Transport)
}
