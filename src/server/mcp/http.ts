import type { Context } from 'hono'
import { toStoredError } from '../../core/failure/outcome.js'
import type { Application } from '../application.js'
import type { Endpoint } from '../endpoint.js'
import { readBody } from '../http/body.js'
import { checked, checkRights, perform } from '../http/perform.js'
import { Problem, problemOf } from '../http/problem.js'
import { credentialsOf, type Env } from '../http/router.js'
import { LONG_MS, requestTimedOut, within } from '../http/timeout.js'
import { loadSdk, mcpServer } from './protocol.js'
import type { ToolInput } from './tool.js'

/** Answers one message of a client. There are no sessions, so that any process behind a load balancer can answer. */
export async function answerMcp(app: Application, context: Context<Env>): Promise<Response> {
  if (!app.settings.mcp) throw new Problem(404, 'NO_SUCH_ROUTE', 'MCP is disabled on this server')
  const credentials = credentialsOf(context)
  const caller = await app.access.callerOf(credentials)
  if (context.req.method !== 'POST') {
    const detail = 'this MCP server has no sessions and no stream; use POST'
    throw new Problem(405, 'METHOD_NOT_ALLOWED', detail, { headers: { Allow: 'POST' } })
  }
  const { raw: request } = context.req
  const act = async (endpoint: Endpoint, { params, query, body }: ToolInput): Promise<unknown> => {
    checkRights(app, endpoint, caller)
    const { answer } = await perform(app, endpoint, {
      app,
      caller,
      params: checked(endpoint.params, params, 'path'),
      query: checked(endpoint.query, query, 'query'),
      body: endpoint.body && checked(endpoint.body, body, 'body'),
      text: '',
      requestId: context.get('requestId'),
      startedAt: app.clock.now(),
      ifMatch: undefined,
      repeatId: undefined,
      signal: request.signal,
      credentials,
      isSecure: false,
      header: () => undefined,
    })
    return answer.body
  }
  const allowWrites = app.settings.mcp.allowWrites && !app.settings.readOnly
  const [server, { WebStandardStreamableHTTPServerTransport }] = await Promise.all([
    mcpServer({ act: logged(app, context, act), caller, allowWrites, toAllowWrites: TO_ALLOW_WRITES }),
    loadSdk(() => import('@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js')),
  ])
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: true })
  await server.connect(transport)
  try {
    const message = await messageOf(app, request)
    const answered = transport.handleRequest(request, { parsedBody: message })
    return await within(app.clock, LONG_MS, answered, () => {
      throw requestTimedOut(LONG_MS)
    })
  } finally {
    await server.close()
  }
}

const TO_ALLOW_WRITES =
  'the server allows them with `mcp: { allowWrites: true }` (CHRONOS_MCP_WRITES=true), unless it is read-only'

async function messageOf(app: Application, request: Request): Promise<unknown> {
  let held = 0
  try {
    const text = await readBody(request, app.settings.maxBodyBytes, bytes => {
      app.bodies.take(bytes)
      held += bytes
    })
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof SyntaxError) throw new Problem(400, 'NOT_JSON', `the body is not JSON: ${error.message}`)
    throw error
  } finally {
    app.bodies.give(held)
  }
}

type Act = (endpoint: Endpoint, input: ToolInput) => Promise<unknown>

/** A tool answers with words about its failure; the reason of an unexpected one goes to the log. */
function logged({ log }: Application, context: Context<Env>, act: Act): Act {
  return async (endpoint, input) => {
    try {
      return await act(endpoint, input)
    } catch (error) {
      const { status, code, cause } = problemOf(error)
      const facts = { requestId: context.get('requestId'), tool: endpoint.tool, status, code }
      if (status >= 500)
        log.error({ event: 'tool.failed', ...facts, error: toStoredError(cause ?? error) }, 'MCP tool failed')
      throw error
    }
  }
}
