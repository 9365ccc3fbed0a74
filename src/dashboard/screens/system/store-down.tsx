import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { every } from '../../data/clock.js'
import type { Problem } from '../../data/http.js'
import { askWhoWeAre } from '../../data/session.js'
import { Button } from '../../parts/button.js'
import { Icon } from '../../parts/icon.js'
import { Facts } from '../../parts/panel.js'
import { base } from '../../shell/router.js'
import { useTitle } from '../../shell/title.js'

const TRY_EVERY_MS = 2_000

/** Nothing can be shown yet: what was tried, what came back, what it may be. Heals by itself. */
export function StoreDown({ problem }: { readonly problem: Problem }) {
  useTitle('Not reachable')
  const tries = useSignal(1)
  const again = (): void => {
    tries.value++
    void askWhoWeAre()
  }
  useEffect(() => every(TRY_EVERY_MS, again), [])
  const isStore = problem.status === 503
  return (
    <main class="centre">
      <div class="card wide stack">
        <div class="row">
          <span class="dead">
            <Icon name={isStore ? 'database' : 'warning'} size={24} />
          </span>
          <h1>{isStore ? 'The store does not answer' : problem.message}</h1>
        </div>
        <p role="alert">{problem.detail}</p>
        <Facts
          facts={[
            ['Asked for', <code key="a">{`${window.location.origin}${base}api/v1/session`}</code>],
            ['Answer', problem.status === 0 ? 'none' : `${problem.status} ${problem.code}`],
            problem.requestId === undefined ? undefined : ['Request', <code key="r">{problem.requestId}</code>],
            ['Tries', `${tries.value}, one more every 2 s`],
          ]}
        />
        <h2>What it may be</h2>
        <ul class="causes">
          {(isStore ? STORE_CAUSES : SERVER_CAUSES).map(cause => (
            <li key={cause}>{cause}</li>
          ))}
        </ul>
        <div class="row">
          <Button icon="retry" onPress={again}>
            Try now
          </Button>
          <span class="muted">This page goes on by itself once there is an answer.</span>
        </div>
      </div>
    </main>
  )
}

const SERVER_CAUSES = [
  'The server was stopped or is starting again: look at its log.',
  'A proxy in between does not reach it: its address or port may have changed.',
  'This device lost its network.',
]

const STORE_CAUSES = [
  'PostgreSQL is stopped, restarting or out of connections: chronos doctor tells which.',
  'The SQLite file is locked by another program, or its disk is full.',
  'The schema is newer or older than this server: chronos migrate status tells.',
]
