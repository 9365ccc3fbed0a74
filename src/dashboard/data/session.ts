import { computed, signal } from '@preact/signals'
import { asProblem, type Problem, request, whenSignedOut } from './http.js'
import { startLive } from './live.js'
import { forgetAnswers } from './query.js'

export type Role = 'viewer' | 'operator' | 'admin'

/** The session as the server reports it. */
export interface Session {
  readonly role: Role
  /** Set if the session is limited to one tenant. */
  readonly tenantId?: string
  readonly name?: string
  readonly authRequired: boolean
  readonly by: 'open' | 'token' | 'session' | 'authorize'
  /** The server refuses every change. */
  readonly readOnly?: boolean
  readonly version: string
  readonly env?: { readonly name: string; readonly color?: string }
  /** The page of a trace, with `{traceId}`. */
  readonly traceUrl?: string
}

type State =
  | { readonly is: 'asking' }
  | { readonly is: 'signed-in'; readonly session: Session }
  | { readonly is: 'signed-out' }
  /** The server or its store is unavailable. */
  | { readonly is: 'unknown'; readonly problem: Problem }

export const state = signal<State>({ is: 'asking' })

export const session = computed(() => (state.value.is === 'signed-in' ? state.value.session : undefined))

const RANK: Readonly<Record<Role, number>> = { viewer: 0, operator: 1, admin: 2 }

/** Whether to show the actions of a role. The server checks again. */
export function may(role: Role): boolean {
  const own = session.value?.role
  if (own === undefined) return false
  return RANK[session.value?.readOnly ? 'viewer' : own] >= RANK[role]
}

/** A tenant token gets 403 for everything shared: queues, workers, circuits, policies, alerts, stats, system. */
export const isTenant = computed(() => session.value?.tenantId !== undefined)

let stopLive: (() => void) | undefined

export async function askWhoWeAre(): Promise<void> {
  try {
    const found = await request<Session>('GET', '/session')
    state.value = { is: 'signed-in', session: found }
    stopLive ??= startLive()
  } catch (error) {
    const problem = asProblem(error)
    state.value = problem.status === 401 ? { is: 'signed-out' } : { is: 'unknown', problem }
  }
}

/** Throws a `Problem` if the token is invalid. */
export async function signIn(token: string): Promise<void> {
  await request('POST', '/session', { body: { token } })
  await askWhoWeAre()
}

export async function signOut(): Promise<void> {
  await request('DELETE', '/session')
  leave()
}

function leave(): void {
  stopLive?.()
  stopLive = undefined
  forgetAnswers()
  state.value = { is: 'signed-out' }
}

export function startSession(): void {
  whenSignedOut(() => {
    if (state.peek().is === 'signed-in') leave()
  })
  void askWhoWeAre()
}
