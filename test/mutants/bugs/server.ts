import type { Mutant } from '../mutant.js'

const ACCESS = 'src/server/access/access.ts'
const TOKENS = 'src/server/access/tokens.ts'
const AUDIT = 'src/server/audit-log.ts'
const IDEMPOTENCY = 'src/server/http/idempotency.ts'
const ROUTER = 'src/server/http/router.ts'
const PERFORM = 'src/server/http/perform.ts'
const TENANCY = 'src/server/routes/tenancy.ts'

/** Bugs of access, tenancy, the audit log and repeated requests. */
export const SERVER_BUGS: readonly Mutant[] = [
  {
    name: 'an audit log that erases itself',
    file: AUDIT,
    find: 'const to = auditIdPrefix(this.#options.clock.now() - KEPT_MS)',
    replace: 'const to = this.#options.dice.id(this.#options.clock.now() - KEPT_MS)',
    killer: 'server#auditLogIsKept',
  },
  {
    name: 'an audit log of all tenants for each of them',
    file: AUDIT,
    find: 'boolean => tenantId === undefined || entry.tenantId === tenantId',
    replace: 'boolean => tenantId === undefined || entry.action !== undefined',
    killer: 'server#auditLogIsOfOneTenant',
  },
  {
    name: 'anyone writes to the audit log by signing out',
    file: 'src/server/routes/session.ts',
    find: '    if (!caller) return { headers, changed: false }\n',
    replace: '    if (!caller) return { headers }\n',
    killer: 'server#signingOutAnonymouslyIsNoChange',
  },
  {
    name: 'wrong tokens lock out valid ones',
    file: ACCESS,
    find: '    if (known) return known.caller\n',
    replace: '    if (known && this.#limiter.failed(address) === 0) return known.caller\n',
    killer: 'server#validTokensAreNotRefused',
  },
  {
    name: 'wrong tokens without a limit',
    file: 'src/server/access/failure-limiter.ts',
    find: 'return window.failures > this.#failuresMax ? window.endsAt - now : 0',
    replace: 'return window.failures < 0 ? window.endsAt - now : 0',
    killer: 'server#wrongTokensAreLimited',
  },
  {
    name: 'tokens in the store leave a server behind a proxy open',
    file: ACCESS,
    find: 'return this.#isAlwaysRequired || (!this.#options.open && (await this.#options.tokens.exist()))',
    replace: 'return this.#isAlwaysRequired',
    killer: 'server#anyTokenClosesTheServer',
  },
  {
    name: 'a revoked token stays good',
    file: TOKENS,
    find: 'const record = cached && cached.until > now ? cached.record',
    replace: 'const record = cached ? cached.record',
    killer: 'server#revokedTokensEnd',
  },
  {
    name: 'a session with more rights than its token',
    file: ACCESS,
    find: 'if (tokenId !== undefined) return this.#options.tokens.holder(tokenId)',
    replace: "if (tokenId !== undefined) return { ...ADMIN, by: 'session' }",
    killer: 'server#sessionsHaveTheRoleOfTheirToken',
  },
  {
    name: 'a session without an end',
    file: ACCESS,
    find: '    if (expiresAt <= this.#options.clock.now()) return undefined\n',
    replace: '    if (expiresAt <= 0) return undefined\n',
    killer: 'server#sessionsEnd',
  },
  {
    name: 'a viewer that makes changes',
    file: PERFORM,
    find: '  if (!mayAct(caller.role, endpoint.role)) {\n',
    replace: '  if (!mayAct(caller.role, endpoint.role) && endpoint.role === caller.role) {\n',
    killer: 'server#viewersChangeNothing',
  },
  {
    name: 'a read-only server that refuses to sign in',
    file: PERFORM,
    find: 'if (app.settings.readOnly && !endpoint.isOpen && auditOf',
    replace: 'if (app.settings.readOnly && auditOf',
    killer: 'server#readOnlyServersAllowSigningIn',
  },
  {
    name: 'a token of one tenant that acts for all',
    file: TENANCY,
    find: '  return { ...asked, tenantId: caller.tenantId }\n',
    replace: '  return asked\n',
    killer: 'server#tenantsActForThemselves',
  },
  {
    name: 'a tenant sees what belongs to no tenant',
    file: TENANCY,
    find: 'return caller.tenantId === undefined || thing.tenantId === caller.tenantId',
    replace:
      'return caller.tenantId === undefined || thing.tenantId === undefined || thing.tenantId === caller.tenantId',
    killer: 'server#tenantsSeeTheirOwn',
  },
  {
    name: 'a tenant sees the jobs of another',
    file: TENANCY,
    find: '  if (found && isOwn(caller, found)) return found\n',
    replace: '  if (found) return found\n',
    killer: 'server#tenantsSeeTheirOwn',
  },
  {
    name: 'large bodies before authentication',
    file: ROUTER,
    find: 'const maxBytes = endpoint.isOpen ? OPEN_BODY_MAX_BYTES : app.settings.maxBodyBytes',
    replace: 'const maxBytes = endpoint.isOpen ? Math.max(OPEN_BODY_MAX_BYTES, 2 ** 22) : app.settings.maxBodyBytes',
    killer: 'server#bodiesBeforeAuthenticationAreSmall',
  },
  {
    name: 'a viewer searches masked secrets',
    file: TENANCY,
    find: "({ masksSecrets: role === 'viewer' })",
    replace: "({ masksSecrets: role === 'viewer' && false })",
    killer: 'server#viewersDoNotSearchSecrets',
  },
  {
    name: 'two callers share an idempotency key',
    file: IDEMPOTENCY,
    find: 'return sha256(`${callerId}\\n${route}\\n${key}`)',
    replace: 'return sha256(`${callerId.slice(0, 0)}\\n${route}\\n${key}`)',
    killer: 'server#keysAreOfOneCaller',
  },
  {
    name: 'a reply that can not be stored frees its key',
    file: IDEMPOTENCY,
    find: '    await store.putRecords([write(id, reply)]).catch(() => {})\n',
    replace:
      '    await store.putRecords([write(id, reply)]).catch(() => store.putRecords([{ kind: REPLY, id, body: null }]))\n',
    killer: 'server#aKeyOutlivesALostReply',
  },
  {
    name: 'an idempotency key for any body',
    file: IDEMPOTENCY,
    find: '    if (reply.request !== request) {\n',
    replace: "    if (reply.request === '') {\n",
    killer: 'server#anAnswerIsRepeated',
  },
  {
    name: 'request bodies without a bound for the whole server',
    file: 'src/server/http/body.ts',
    find: 'if (this.#usedBytes + bytes > this.#maxBytes) {',
    replace: 'if (bytes > this.#maxBytes) {',
    killer: 'server#bodiesShareABound',
  },
  {
    name: 'an event stream that outlives its token',
    file: 'src/server/events/stream.ts',
    find: 'if (!(await this.#options.isValid())) this.close()',
    replace: 'if (this.#isClosed && !(await this.#options.isValid())) this.close()',
    killer: 'server#streamsEndWithTheirToken',
  },
  {
    name: 'a tenant that creates queues without end',
    file: 'src/server/access/quota.ts',
    find: 'if (!created.has(name) && created.size >= max) return false',
    replace: 'if (!created.has(name) && created.size < 0) return false',
    killer: 'server#aTenantCreatesSoManyQueues',
  },
  {
    name: 'tenants that share the ids of schedules',
    file: 'src/server/routes/schedules.ts',
    find: 'tenantId === undefined ? id : idOfTenant(id, tenantId)',
    replace: "tenantId === undefined ? id : idOfTenant(id, tenantId.slice(0, 0) || 'any')",
    killer: 'server#scheduleIdsAreOfOneTenant',
  },
  {
    name: 'a probe that names the host of the store',
    file: 'src/server/health.ts',
    find: "storeCheck(check.isOk, check.isOk ? 'available' : 'unavailable')",
    replace: 'storeCheck(check.isOk, check.detail)',
    killer: 'server#probesDoNotNameTheStore',
  },
  {
    name: 'integers that REST rounds',
    file: 'src/core/values/json.ts',
    find: 'if (!/\\d{16}/.test(text)) return undefined',
    replace: 'if (!/\\d{160}/.test(text)) return undefined',
    killer: 'server#integersAreNotRounded',
  },
  {
    name: 'an unknown store address shown with its password',
    file: 'src/index.ts',
    find: 'scheme === url ? store : `${scheme}…`',
    replace: 'scheme === url ? store : url',
    killer: 'server#anAddressIsShownWithoutItsPassword',
  },
]
