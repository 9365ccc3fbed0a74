/**
 * Routes of jobs, with the methods of the library that they make available (`LibraryCall` explains the notation). The server
 * serves them, and a client without the server's code calls them.
 */
export const JOB_ROUTES = {
  create: {
    method: 'post',
    path: '/jobs',
    call: ['enqueue(name, payload, ...)', 'http(http, ...)'],
    creates: 'keyed',
  },
  batch: { method: 'post', path: '/jobs:batch', creates: 'keyed' },
  list: { method: 'get', path: '/jobs', call: ['jobs.list(..., ..., kind="job")', 'byId.list(..., ...)'] },
  get: { method: 'get', path: '/jobs/{id}', call: ['jobs.get(id)', 'byId.get(id)'] },
  history: { method: 'get', path: '/jobs/{id}/history', call: ['jobs.history(id, ...)', 'byId.history(id, ...)'] },
  logs: { method: 'get', path: '/jobs/{id}/logs', call: ['jobs.logs(id, ...)', 'byId.logs(id, ...)'] },
  cancel: { method: 'post', path: '/jobs/{id}/cancel', call: ['jobs.cancel(id)', 'byId.cancel(id)'] },
  runNow: { method: 'post', path: '/jobs/{id}/run-now', call: ['jobs.runNow(id)', 'byId.runNow(id)'] },
  retry: { method: 'post', path: '/jobs/{id}/retry', call: ['jobs.retry(id)', 'byId.retry(id)'] },
} as const
