import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { freePort } from '../../support/port.js'
import { dropSchemas, freshSchema, openStore, postgresUrl } from '../../support/postgres.js'
import { temporaryFolder } from '../../support/process.js'
import { jobs, request, settlement } from './bench.js'

afterAll(dropSchemas)

const isInstalled = spawnSync('pgbouncer', ['--version']).status === 0

interface Bouncer {
  readonly url: string
  readonly process: ChildProcess
}

/** Starts PgBouncer in front of the test server, with statements that it does not keep for clients. */
async function startBouncer(folder: string, mode: 'transaction' | 'session'): Promise<Bouncer> {
  const { hostname, port: behind, username, password, pathname } = new URL(await postgresUrl())
  const port = await freePort()
  const login = password === '' ? '' : ` password=${decodeURIComponent(password)}`
  const target = `host=${hostname} port=${behind || 5432} dbname=${pathname.slice(1)} user=${username}${login}`
  const config = join(folder, 'pgbouncer.ini')
  writeFileSync(
    config,
    `[databases]\njobs = ${target}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nauth_type = any\n` +
      `unix_socket_dir =\npool_mode = ${mode}\nignore_startup_parameters = extra_float_digits\n` +
      'max_prepared_statements = 0\n',
  )
  chmodSync(folder, 0o755)
  // PgBouncer does not run as root.
  const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}
  const child = spawn('pgbouncer', [config], { ...user, stdio: ['ignore', 'ignore', 'pipe'] })
  for await (const chunk of child.stderr) if (String(chunk).includes('process up')) break
  return { url: `postgres://${username}@127.0.0.1:${port}/jobs`, process: child }
}

describe('behind PgBouncer', () => {
  it.each(['transaction', 'session'] as const)('in %s mode, jobs are enqueued, claimed and settled', async mode => {
    if (!isInstalled) {
      console.log('not run: pgbouncer is not installed')
      expect(spawnSync('pgbouncer', ['--version']).error).toMatchObject({ code: 'ENOENT' })
      return
    }
    using folder = temporaryFolder()
    const bouncer = await startBouncer(folder.path, mode)
    const store = await openStore({ url: bouncer.url, schema: freshSchema(), listenUrl: await postgresUrl() })
    await store.migrate()
    for (let round = 0; round < 3; round++) {
      await Promise.all(Array.from({ length: 8 }, () => store.enqueue(jobs(1))))
    }
    const { jobs: held } = await store.claim(request({ limit: 24 }))
    const settled = await store.settle(held.map(one => settlement(one, 'succeeded')))
    expect(settled.map(({ status }) => status)).toEqual(Array.from({ length: 24 }, () => 'settled'))
    await store.close()
    bouncer.process.kill()
    await once(bouncer.process, 'exit')
  })
})
