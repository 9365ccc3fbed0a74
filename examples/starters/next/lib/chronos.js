import { createChronos } from 'chronos-jobs'
import { createServer } from 'chronos-jobs/server'
import { authorize } from './session.js'

function open() {
  const chronos = createChronos({ store: process.env.CHRONOS_STORE ?? 'sqlite:./chronos.db' })
  return { chronos, board: createServer(chronos, { basePath: '/jobs', authorize }) }
}

/** Next.js bundles each route with its own copy of this module: they share one client. */
const shared = /** @type {{ starter?: ReturnType<typeof open> }} */ (globalThis)
shared.starter ??= open()

export const { chronos, board } = shared.starter
