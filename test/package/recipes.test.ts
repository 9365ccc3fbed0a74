import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { type Running, startProgram } from '../cli/process.js'
import { dropSchemas, freshSchema, postgresUrl } from '../support/postgres.js'
import { ROOT } from '../support/tree.js'
import { type Packed, packed } from './packed.js'

// The commands of `deploy/` with their exact environment, in an installation that has only the npm package.

const TOKEN = 'a-token-of-the-administrator'
const VIEWER_TOKEN = 'a-token-that-may-only-read'
/** What Kubernetes sets in each pod of a namespace with a Service named chronos, unless it is told not to. */
const SERVICE_LINKS = {
  CHRONOS_SERVICE_HOST: '10.0.0.1',
  CHRONOS_SERVICE_PORT: '80',
  CHRONOS_PORT: 'tcp://10.0.0.1:80',
  CHRONOS_PORT_80_TCP: 'tcp://10.0.0.1:80',
  CHRONOS_PORT_80_TCP_PORT: '80',
}

interface Recipe {
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

const read = (path: string): string => readFileSync(join(ROOT, 'deploy', path), 'utf8')

let installation: Packed
const running: Running[] = []
const disks: string[] = []

/** What the platform gives to the processes of one recipe. */
interface Place {
  /** Stands in for /data, /var/lib/chronos and the folder of credentials. */
  readonly disk: string
  readonly postgres: string
}

function freshDisk(): string {
  const disk = mkdtempSync(join(tmpdir(), 'chronos-recipe-'))
  disks.push(disk)
  return disk
}

beforeAll(() => {
  installation = packed()
  cpSync(join(ROOT, 'deploy', 'jobs'), join(installation.app, 'jobs'), { recursive: true })
  const bin = join(installation.app, 'node_modules', '.bin')
  mkdirSync(bin)
  const cli = join(installation.installed, 'dist', 'cli.js')
  // npm does both when it installs a package.
  chmodSync(cli, 0o755)
  for (const name of ['chronos', 'chronos-jobs']) symlinkSync(cli, join(bin, name))
})
afterAll(async () => {
  for (const { child, ended } of running) {
    child.kill('SIGKILL')
    await ended
  }
  for (const disk of disks) rmSync(disk, { recursive: true, force: true })
  installation.remove()
  await dropSchemas()
})

const image = (): Recipe['env'] =>
  Object.fromEntries(
    [...read('Dockerfile').matchAll(/\b(NODE_ENV|CHRONOS_\w+)=(\S+)/g)].map(([, name, value]) => [name!, value!]),
  )

function composed(path: string, service: string): Recipe {
  const { services } = parse(read(path), { merge: true }) as {
    services: Record<string, { command: string[]; environment: Record<string, string> }>
  }
  const { command, environment } = services[service]!
  return { args: command, env: { ...image(), ...environment } }
}

interface Deployment {
  readonly kind: string
  readonly spec: { readonly template: { readonly spec: PodSpec } }
}
interface PodSpec {
  readonly enableServiceLinks?: boolean
  readonly containers: readonly [{ readonly args: string[]; readonly env: readonly Variable[] }]
}
interface Variable {
  readonly name: string
  readonly value?: string
  readonly valueFrom?: { readonly secretKeyRef: { readonly key: string } }
}

function podOf(path: string): PodSpec {
  const documents = parseAllDocuments(read(path)).map(document => document.toJS() as Deployment)
  return documents.find(({ kind }) => kind === 'Deployment')!.spec.template.spec
}

function inKubernetes(path: string): Recipe {
  const [{ args, env }] = podOf(path).containers
  const variables = env.map(({ name, value, valueFrom }) => [name, value ?? `secret:${valueFrom?.secretKeyRef.key}`])
  return { args, env: { ...image(), ...Object.fromEntries(variables), ...SERVICE_LINKS } }
}

function unit(path: string): Recipe {
  const text = read(path)
  const [, command = ''] = /^ExecStart=\S+\/chronos (.+)$/m.exec(text) ?? []
  const env = [...text.matchAll(/^Environment=(\w+)=(.*)$/gm)].map(([, name, value]) => [name!, value!] as const)
  return { args: command.split(' '), env: Object.fromEntries(env) }
}

/** Fills in what the platform would: secrets, credentials and mounted folders. */
function placed(text: string, { disk, postgres }: Place): string {
  return text
    .replace(/^postgres:.*@postgres:5432\/chronos$/, postgres)
    .replace(/^\$\{CHRONOS_TOKEN:\?.*\}$|^secret:token$/, TOKEN)
    .replace(/^\$\{CHRONOS_VIEWER_TOKEN:\?.*\}$/, VIEWER_TOKEN)
    .replace(/^secret:store$/, postgres)
    .replace('%d/', `${disk}/`)
    .replace('%i', 'default')
    .replace(/\/(data|var\/lib\/chronos)\//, `${disk}/`)
    .replace(/\/(app|srv\/chronos)\/(jobs\/)?jobs\.mjs$/, join(installation.app, 'jobs', 'jobs.mjs'))
}

function started({ args, env }: Recipe, place: Place): Running {
  const given = Object.entries(env).map(([name, value]) => [name, placed(value, place)])
  const bin = join(installation.app, 'node_modules', '.bin')
  // A port of the machine that runs the tests may be taken.
  const line = [...args.map(each => placed(each, place)), ...(args[0] === 'serve' ? ['--port', '0'] : [])]
  const process_ = startProgram(join(bin, 'chronos'), line, {
    cwd: place.disk,
    env: { ...Object.fromEntries(given), PATH: `${bin}:${dirname(process.execPath)}:/usr/bin:/bin` },
  })
  running.push(process_)
  return process_
}

const serving = async (server: Running): Promise<string> => {
  const [, port] = await server.said(/^serving http:\/\/\S+?:(\d+)/m)
  return `http://127.0.0.1:${port}`
}

/** Starts the processes of a recipe; enqueues a job through the first, has it run, and stops them all. */
async function works(recipes: readonly Recipe[], probe?: (url: string) => void): Promise<readonly string[]> {
  const place = { disk: freshDisk(), postgres: `${await postgresUrl()}?schema=${freshSchema()}` }
  writeFileSync(join(place.disk, 'token'), `${TOKEN}\n`)
  const processes = recipes.map(recipe => started(recipe, place))
  const url = await serving(processes[0]!)
  const api = (path: string, init: RequestInit = {}): Promise<Response> =>
    fetch(`${url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    })
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
  expect((await fetch(`${url}/api/v1/jobs`)).status).toBe(401)
  const answer = await api('/api/v1/jobs', {
    method: 'POST',
    body: JSON.stringify({ name: 'greet', payload: { name: 'Ada' } }),
  })
  const { id } = (await answer.json()) as { id: string }
  const worksToo = recipes.some(({ args }) => args.includes('--jobs'))
  await expect
    .poll(async () => ((await (await api(`/api/v1/jobs/${id}`)).json()) as { state: string }).state)
    .toBe(worksToo ? 'succeeded' : 'waiting')
  probe?.(url)
  for (const { child } of processes) child.kill('SIGTERM')
  const ends = await Promise.all(processes.map(({ ended }) => ended))
  expect(ends.map(({ code }) => code)).toEqual(ends.map(() => 0))
  return ends.map(({ stderr }) => stderr)
}

/** The image with its own command, and its health check. */
async function imageWorks(): Promise<void> {
  const [, command = ''] = /^CMD (\[.*\])$/m.exec(read('Dockerfile')) ?? []
  const [, health = ''] = /^HEALTHCHECK .*\n *CMD (\[.*\])$/m.exec(read('Dockerfile')) ?? []
  const [node = '', ...args] = JSON.parse(health) as string[]
  const recipe = { args: JSON.parse(command) as string[], env: { ...image(), CHRONOS_TOKEN: TOKEN } }
  await works([recipe], url => {
    const env = (port: string) => ({ PATH: process.env['PATH'], CHRONOS_PORT: port })
    const checked = (port: string) => spawnSync(node, args, { env: env(port) }).status
    expect([checked(new URL(url).port), checked('1')]).toEqual([0, 1])
  })
}

describe('deploy', () => {
  // All at the same time: most of the time, a process that stops waits for its load balancer.
  it('works: the image, both compose files, the units of systemd and the manifests of Kubernetes', async () => {
    const [, , , , said] = await Promise.all([
      imageWorks(),
      works([composed('compose.yml', 'chronos')]),
      works([composed('compose.postgres.yml', 'server'), composed('compose.postgres.yml', 'worker')]),
      works([unit('systemd/chronos.service'), unit('systemd/chronos-worker@.service')]),
      works([inKubernetes('kubernetes/server.yaml'), inKubernetes('kubernetes/worker.yaml')]),
    ])
    // The variables of a Service named chronos do no harm.
    for (const lines of said) expect(lines).toContain('"event":"config.ignored","variable":"CHRONOS_PORT"')
  })

  it('does not ask Kubernetes for the variables of a Service named chronos', () => {
    for (const path of ['kubernetes/server.yaml', 'kubernetes/worker.yaml'])
      expect(podOf(path).enableServiceLinks, path).toBe(false)
  })
})

describe('npx chronos-jobs dev', () => {
  it('works from an empty folder', async () => {
    const disk = freshDisk()
    const bin = join(installation.app, 'node_modules', '.bin', 'chronos-jobs')
    // npx sets npm_command for the program that it runs.
    const env = { PATH: `${dirname(process.execPath)}:/bin:/usr/bin`, HOME: disk, npm_command: 'exec' }
    const dev = startProgram(bin, ['dev', '--port', '0'], { cwd: disk, env })
    running.push(dev)
    const [, url] = await dev.said(/Dashboard {2}(http\S+)\//)
    const [, command] = await dev.said(/\$ npx chronos-jobs (http POST .*)/)
    expect(await (await fetch(`${url}/`)).text()).toContain('<script')
    // It waits for the job, which fails twice, and its exit code says how the job ended.
    expect(spawnSync('sh', ['-c', `${bin} ${command}`], { cwd: disk, env }).status).toBe(0)
    dev.child.kill('SIGINT')
    expect((await dev.ended).code).toBe(0)
  })
})
