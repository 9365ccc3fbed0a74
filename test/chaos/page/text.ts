// The parts of docs/reliability.md that no run produces.

export const INTRODUCTION = `# Reliability

What Chronos promises, how each promise was attacked, and what is not promised. This page is generated from the result of \`npm run chaos\`
(\`test/chaos/result.json\`) with \`npm run chaos -- --write-docs\`; \`test/chaos/page/page.test.ts\` fails if it differs.

The scenarios start real processes: workers, a server, pull workers and a client that use retries, at-most-once jobs, \`job.once\`, snoozes, schedules, webhooks,
circuit breakers, redrives and tenants. Clients, handlers and webhook receivers write a ledger outside the system. At the end one checker joins it with the
database. A run that did not cause enough faults fails, because it proves nothing. \`npm test\` runs a slice of each fault.
`

/** Each promise, and the tests that would fail without it. */
export const HELD_BY: readonly (readonly [promise: string, tests: readonly string[]])[] = [
  [
    'An acknowledged job is never lost',
    [
      'test/chaos/promises/enqueues.ts',
      'test/simulation/promises/enqueues.ts',
      'test/store/postgres/connection/faults.test.ts',
    ],
  ],
  [
    'Each run has one lease holder; a worker without the lease writes nothing',
    ['test/chaos/promises/runs.ts', 'test/store/conformance/life/settle.ts', 'test/mutants/mutants.test.ts'],
  ],
  ['A completed job never runs again', ['test/chaos/promises/runs.ts', 'test/simulation/promises/runs.ts']],
  [
    'A handler starts at most `maxRetries + 1` times in a generation, whatever crashes',
    ['test/chaos/promises/runs.ts', 'test/chaos/workers/limit.test.ts', 'test/engine/worker/limit.test.ts'],
  ],
  [
    'The handler of an at-most-once job starts at most once',
    ['test/chaos/promises/runs.ts', 'test/simulation/promises/start.ts'],
  ],
  [
    'Every run that began has one row, numbered without gaps',
    ['test/chaos/promises/runs.ts', 'test/simulation/promises/runs.ts'],
  ],
  [
    'A key is one job, per tenant, also when the answer was lost',
    ['test/chaos/promises/enqueues.ts', 'test/model/commands.test.ts'],
  ],
  [
    'An effect of `job.once` is not repeated once its result is recorded',
    ['test/chaos/promises/features.ts', 'test/simulation/simulation.test.ts'],
  ],
  ['Each occurrence of a schedule makes one job, with any number of schedulers', ['test/chaos/promises/features.ts']],
  ['Each end of a job sends one webhook message, at least once, under one id', ['test/chaos/promises/features.ts']],
  [
    'Only a redrive starts a job that has ended',
    ['test/chaos/promises/features.ts', 'test/simulation/promises/runs.ts'],
  ],
  [
    'Everything ends once the faults are over: nothing stays blocked by something that died',
    ['test/chaos/operator.ts'],
  ],
  [
    'A limit of a queue or a partition is never exceeded, a rate in no window, and `fifo` keeps the order of creation, whatever crashes',
    [
      'test/chaos/partitions/kills.ts',
      'test/chaos/partitions/rates.ts',
      'test/model/limits.ts',
      'test/mutants/bugs/limits.ts',
    ],
  ],
  [
    'A job that harms its process ends as poison; no other job dies of it',
    ['test/chaos/scenarios/poison.ts', 'test/chaos/workers/poison.test.ts', 'test/engine/worker/quarantine.test.ts'],
  ],
  ['A blocked event loop does not lose its jobs', ['test/chaos/workers/blocked.test.ts']],
  [
    'SIGTERM hands running jobs back without using an attempt, and exits with 0',
    ['test/chaos/workers/signals.test.ts'],
  ],
  [
    'Clients that do not read, or send too much, do not fill the memory of a server',
    ['test/server/http/connections.test.ts', 'test/server/http/body.test.ts'],
  ],
  [
    'Large pages that many clients ask for do not keep other requests waiting',
    ['test/server/http/large-pages.test.ts'],
  ],
]

export const FOUND = `## What was found and fixed

| Found by | What happened | Now |
|---|---|---|
| kills | The webhook deliveries that a killed worker was sending waited for a minute, whatever its lease was | They have the lease of their worker (\`test/engine/webhooks/deliveries.test.ts\`) |
| slow clients | Ten clients that sent 50 requests each and read no response made a server use 1 GB and answer no other client for a minute and a half | Requests of one connection are answered one at a time, unread responses take at most 64 MiB, and a client that reads nothing is disconnected (\`test/server/http/connections.test.ts\`) |
| slow clients | While 500 clients asked for pages of 2 MB at the same time, a request for one job waited until they all had been made | Pages of more than 10 items are made two at a time, and other requests in between (\`test/server/http/large-pages.test.ts\`) |
| slow clients | Pages of 2 MB were made for clients that had been disconnected while they waited for their turn | They are not made (\`test/server/http/large-pages.test.ts\`) |
| slow clients | With 1,500 clients that connect at the same moment, of which 500 ask for 50 pages of 2 MB at once and read none, the first request of another client took 2.2 s or more: the first page of each was prepared before its other requests showed that it must be disconnected, and what still waited was handled afterwards | 0.7 s: neither happens (\`test/server/http/connections.test.ts\`) |
| simulation | A job that was called to probe an open circuit was deferred again by other processes before an idle worker claimed it, so that the circuit stayed open for ever | It stays due (\`test/store/conformance/life/dependencies.ts\`) |
| simulation | \`job.once\` ran an effect that another run had recorded, if its process was suspended, or its run handed back, while the store answered | It asks the store again (seeds 3638 and 4973 in \`test/seeds.json\`) |
| simulation | A request of a pull worker that a suspended server delivered late ended a later run of the same job | Requests can name their run (\`test/engine/leases/leases.test.ts\`) |
| simulation | A handler was stopped although its lease had been renewed, if it started while the answer was under way | The renewal counts (seed 100004 in \`test/seeds.json\`) |
| simulation | After a slow first answer of the store, an occurrence made its job 1.5 s early | The estimated time is never ahead of the store (\`test/engine/time/store-time.test.ts\`) |
| simulation | While two redrives of the same jobs ran, a late request of one started a job that the other had started and that had died again | It is refused (seed 41438 in \`test/seeds.json\`) |
| simulation | Starts that were handed back, but learned of only after the next start, let one job more start than the rate of its queue allows | They count as if they had been known before (seed 100950 in \`test/seeds.json\`) |
| simulation | A redrive that another process had started waited up to half a minute instead of 15 s, if a redrive ended just after the last look for new ones | The next look comes at its time (seed 211114 in \`test/seeds.json\`) |
| clocks | A sweeper read a job whose lease had expired by the clock of the store, a worker whose clock was behind began the run, and the sweeper then wrote that it had not begun: an at-most-once job could start twice, another job once more than \`maxRetries + 1\` times | The sweep is refused if the run has begun meanwhile, and decided again (\`test/store/conformance/life/settle.ts\`, \`test/engine/upkeep/sweeper.test.ts\`) |
| soak on SQLite | On a very busy machine two pull jobs started once more than \`maxRetries + 1\` times. Their ledger is gone, but the code had such a fault: a job could be handed out after its lease had expired, and a sweep that had read it before did not count the run | A job whose start must be recorded is not handed out after its lease has expired, or by a server that is closing (\`test/engine/leases/leases.test.ts\`) |
| kills | A delivery that was the only job of its worker at three kills ended as poison, and its message was not sent | A delivery is never taken for poison (\`test/engine/webhooks/deliveries.test.ts\`) |
| poison jobs | On PostgreSQL, two processes that looked for the jobs of a dead worker at the same moment hid jobs from each other. One that was found a moment later counted as alone, and got a strike | They share their locks (\`test/store/postgres/writes/races.test.ts\`) |
| poison jobs | With two workers in one process, the only job of one of them ended as poison after a job of the other one had crashed the process three times | All workers of a process count as one (\`test/chaos/workers/poison.test.ts\`, \`test/engine/worker/quarantine.test.ts\`) |
| poison jobs | A process with a job of hours and a suspect that must run alone started nothing else for four fifths of the time | It pauses between its tries (\`test/engine/worker/quarantine.test.ts\`) |
| many names | With 100,000 queues on SQLite, a forecast took 17 s and failed, a wave of all queues took 34 s, and the counts for \`/metrics\` 3.2 s of CPU time | 0.4 s, 0.3 s and 0.8 s: only queues with waiting jobs are read, and a bounded number of them (\`test/store/sqlite/many-queues.test.ts\`, \`test/store/postgres/many-queues.test.ts\`) |
| many names | With 100,000 queues on PostgreSQL, seven paths that count all queues were answered 503 on a busy machine, because a statement may take no longer than some seconds: the names of all queues were looked for by a walk of 0.7 s, up to three times per request, and the oldest due jobs by one of 2 s | 1.9 s for the slowest path (\`test/store/postgres/many-queues.test.ts\`) |
| many names | With 100,000 error groups an incident report had 7.8 MB | It has at most 500 errors (\`test/engine/incident/incident.test.ts\`) |
| many names | A process read 10,000 dependencies twice a second, and never those beyond | It reads those that it uses, and the others in turns (\`test/engine/dependencies/many.test.ts\`) |
| many names | A call that waited five seconds for a free connection to PostgreSQL failed as if the server were away | It waits while other calls are answered, and the error names the cause (\`test/store/postgres/connection/few.test.ts\`) |
| many names | A busy server closed a connection whose next request it had not read yet | Connections are kept for 65 s (\`test/server/http/connections.test.ts\`) |
| many names | The evaluation of the alerts blocked a server with 100,000 queues for two seconds | It looks only at readings that can change an alert (\`test/core/alert/alert.test.ts\`) |
| old and new version side by side | The previous version and this one could not read each other's pending statistics | They can (\`test/store/postgres/writes/older-deltas.test.ts\`) |
| PgBouncer | The test of PgBouncer failed with versions before 1.21 | Both kinds of versions are tested (\`test/store/postgres/pgbouncer.test.ts\`) |
`

export const NOT_HELD = `## Runs that did not hold

They are not in the tables above. The machine was busy: its two cores had 10 to 60 processes waiting.

| Scenario | What happened |
|---|---|
| kills and freezes on PostgreSQL | The first of three runs at full size did not send one webhook message (below). The other two held; the last one is in the table above |
| old and new version side by side | A run with 100 kills and 20 freezes found the statistics that the versions could not read (below). It also showed that the older version does not count lost runs: beside it, a handler may start more often than \`maxRetries + 1\` times. The run above allows for that |
| soak on PostgreSQL | A run of 30 minutes ended with an error: the server could not be reached for the final check. That is also what a process said whose own connections were all in use (below); the later run of 30 minutes above held |
| soak on SQLite | In a run of 30 minutes with 29 crashes (37,606 jobs) the heap stayed at 18 to 19 MB and the open files at 48, but at the end the jobs of the one pull worker made no progress for two minutes, and the run was stopped. The cause is not known. It did not happen again in another run of 30 minutes with 29 crashes (41,664 jobs, heap 20 to 21 MB, 47 open files, up to 36 processes waiting for a core), in which two jobs started once too often (below), nor in the run above. A run that stalls names the jobs and why they wait |
| clocks on SQLite | In the last of several runs at full size, on a machine with 32 processes waiting for its two cores, one job of 12,106 started once more than \`maxRetries + 1\` times. A sweep that did not see that the run had begun meanwhile allowed that (below). The run above was made after the fix |
| behind PgBouncer | Once, with ten restarts two seconds apart, no process could connect for eight minutes. Three runs since then held, two of them at full size; the cause is not known |
`

export const MATRIX = `## Guarantees by durability setting

| | SQLite (\`synchronous=FULL\`, always set) | PostgreSQL, \`fsync\` and \`synchronous_commit\` on | with a synchronous standby (\`on\`, \`remote_apply\`) | with an asynchronous standby, after a failover | \`synchronous_commit\` off, SQLite files written with \`synchronous=NORMAL\` by another program | \`memory:\` |
|---|---|---|---|---|---|---|
| kill -9 of any process | nothing lost | nothing lost | nothing lost | nothing lost | nothing lost | everything lost |
| kill -9 of the database server | – | nothing lost | nothing lost | nothing lost | the last moments lost | – |
| power loss | nothing lost | nothing lost | nothing lost | the last moments lost | the last moments lost | everything lost |
| loss of the disk | restore a backup | restore a backup | nothing lost | the last moments lost | restore a backup | – |
| a completed job never runs again | yes | yes | yes | not if its success was in the lost moments | not after such a loss | while the process lives |
| at most once | yes | yes | yes | **no**: a claim may be undone | **no**, after such a loss | while the process lives |
| no more attempts than allowed | yes | yes | yes | one more for each lost claim | one more for each lost claim | while the process lives |

\`synchronous_commit = remote_write\` is between the two: it survives a crash of the primary, but not a power loss of both machines.
`

export const NOT_PROMISED = `## What is not promised

- **Exactly once.** A handler whose worker dies may have had its effect. It runs again (at least once), or the job ends as \`unknown-outcome\` (at most once). Pass \`job.key\` to other services, or use \`job.once\`.
- **Order.** Jobs of one queue start in the order of their priority and time, but run concurrently, unless its partitions have \`order: 'fifo'\` ([Limits and order](limits.md)). Webhook messages may arrive in any order.
- **Timely starts.** A job starts when it is due and a worker is free. After a crash, its jobs wait for the lease (30 s by default) and a sweep.
- **Occurrences of a long outage.** A schedule makes up for as many missed occurrences as \`missed\` says, at most 100.
- **The tail of an asynchronous standby.** What the primary had not sent is gone after a failover, also if it was acknowledged.
- **A disk that lies** about what it has written, or a network file system under SQLite.
`
