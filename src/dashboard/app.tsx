import { Component, type ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { asProblem, type Problem } from './data/http.js'
import { isFetching } from './data/query.js'
import { isTenant, state } from './data/session.js'
import { LazyScreen } from './lazy.js'
import { Button } from './parts/button.js'
import { Empty, ProblemPanel } from './parts/empty.js'
import { ConfirmHost } from './parts/layer/confirm.js'
import { LiveRegion, Toasts } from './parts/layer/toasts.js'
import { Tooltip } from './parts/layer/tooltip.js'
import { ROUTES } from './routes.js'
import { SignIn } from './screens/system/sign-in.js'
import { StoreDown } from './screens/system/store-down.js'
import { href, match, navigate, path } from './shell/router.js'
import { Shell } from './shell/shell.js'

export function App() {
  return (
    <>
      <Inside />
      <ConfirmHost />
      <Toasts />
      <LiveRegion />
      <Tooltip />
    </>
  )
}

function Inside() {
  switch (state.value.is) {
    case 'asking':
      return null
    case 'signed-out':
      return <SignIn />
    case 'unknown':
      return <StoreDown problem={state.value.problem} />
    case 'signed-in':
      return (
        <Shell>
          <Page />
        </Shell>
      )
  }
}

/** The screen of the current path. A new path mounts a new screen; a new query updates the same one. */
function Page() {
  const main = useRef<HTMLElement>(null)
  const at = path.value
  const isFirst = useRef(true)
  useEffect(() => {
    // Screen readers start at the top of the new screen.
    if (!isFirst.current) main.current?.focus({ preventScroll: true })
    isFirst.current = false
  }, [at])
  useEffect(() => {
    if (at === '/' && isTenant.value) navigate(href('/jobs'), { replace: true })
  }, [at])
  return (
    <main class="page" id="main" tabIndex={-1} ref={main} aria-busy={isFetching}>
      <Boundary key={at}>{screenAt(at)}</Boundary>
    </main>
  )
}

function screenAt(at: string) {
  for (const route of ROUTES) {
    const params = match(route.path, at)
    if (!params) continue
    if (route.forAll && isTenant.value) return <NotYours />
    return <LazyScreen key={at} name={route.screen} params={params} />
  }
  return <NotFound />
}

function NotFound() {
  return (
    <Empty icon="search" title="Page not found" actions={<Button text="Go to the overview" href={href('/')} />}>
      The address may be mistyped or belong to another version.
    </Empty>
  )
}

function NotYours() {
  return (
    <Empty
      icon="tokens"
      title="Not available for a tenant token"
      actions={<Button text="Go to your jobs" href={href('/jobs')} />}
    >
      Your token shows the jobs, dead letters, schedules and webhooks of one tenant.
    </Empty>
  )
}

/** Keeps the rest of the page alive when a screen throws. */
class Boundary extends Component<{ readonly children: ComponentChildren }, { readonly problem?: Problem }> {
  override state: { readonly problem?: Problem } = {}

  static override getDerivedStateFromError(error: unknown): { readonly problem: Problem } {
    return { problem: asProblem(error) }
  }

  override render() {
    const { problem } = this.state
    return problem ? <ProblemPanel problem={problem} onRetry={() => window.location.reload()} /> : this.props.children
  }
}
