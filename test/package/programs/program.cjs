// Uses every entry point as a CommonJS program does, and prints what it found.
const { createChronos, defineJob, fixed, ChronosError } = require('chronos-jobs')
const { sqlite } = require('chronos-jobs/sqlite')
const { postgres } = require('chronos-jobs/postgres')
const { createServer } = require('chronos-jobs/server')
const { memoryStore } = require('chronos-jobs/store')
const { conformance } = require('chronos-jobs/store/conformance')
const { testChronos } = require('chronos-jobs/testing')

async function main() {
  const seen = {}
  const flaky = defineJob({
    name: 'flaky',
    retry: fixed({ delay: '1ms', maxRetries: 3, jitter: 'none' }),
    async run(_payload, job) {
      if (job.attempt < 3) throw new Error('not yet')
      return 'done'
    },
  })
  const chronos = createChronos({ store: sqlite('./cjs.db'), log: false })
  const ended = new Promise(resolve => chronos.on('job.succeeded', resolve))
  chronos.work([flaky])
  const { id } = await chronos.enqueue(flaky, {})
  await ended
  const { state, attempt, result } = await chronos.jobs.get(id)
  seen.job = { state, attempt, result }

  const server = createServer(chronos, { open: true })
  const page = await server.fetch(new Request('http://127.0.0.1/'))
  seen.dashboard = (await page.text()).includes('<script')
  await server.close()
  await chronos.close()

  const t = testChronos({ jobs: [flaky] })
  await t.enqueue(flaky, {})
  await t.drain()
  seen.testing = (await t.jobs.list({})).data.map(job => job.state)
  await t.close()

  const unreachable = createChronos({ store: postgres('postgres://127.0.0.1:1/none'), log: false })
  seen.postgres = await unreachable.info().catch(error => error instanceof ChronosError && error.code)
  await unreachable.close()

  seen.functions = [memoryStore, conformance].map(each => typeof each)
  seen.format = require.resolve('chronos-jobs').split('.').at(-1)
  seen.sameAsImported = (await import('chronos-jobs')).ChronosError === ChronosError
  process.stdout.write(JSON.stringify(seen))
}

main()
