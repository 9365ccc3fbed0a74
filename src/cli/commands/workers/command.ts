import { acting, type CommandSpec, listing } from '../../command.js'

export const workers: CommandSpec = {
  name: 'workers',
  summary: 'list the workers of all machines, or stop one',
  examples: `
chronos workers
chronos workers drain 019a4f6e-7c1d-7e21-b0aa-3f9d2c5e8b47`,
  commands: [
    {
      name: 'list',
      isDefault: true,
      summary: 'list the workers of all machines, newest first (default)',
      examples: `
chronos workers
chronos workers --json | jq '[.data[] | select(.state == "alive")] | length'`,
      notes: `
A worker that stops is removed from the list. A worker that was killed is shown
as silent after three missed heartbeats.`,
      run: listing(async () => (await import('./run.js')).WORKERS),
    },
    {
      name: 'drain',
      summary: 'stop a worker after the jobs that it runs',
      details:
        'It obeys at its next heartbeat, or at once if it runs in the process of the server that is asked: it claims no more jobs, ends those that it runs, and stops.',
      arguments: [['<id>', 'the id of the worker']],
      examples: `
chronos workers drain 019a4f6e-7c1d-7e21-b0aa-3f9d2c5e8b47`,
      notes: `
"chronos worker" and "chronos serve" then exit with 0. A worker within an
application emits the event worker.drained; a pull worker learns of it from its
next claim.`,
      run: acting((backend, id: string) => backend.fleet.drain(id), {
        text: ({ id, running }) =>
          `draining worker ${id}: it claims no more jobs${running === 0 ? '' : `, and ${running} still ${running === 1 ? 'runs' : 'run'}`}`,
      }),
    },
  ],
}
