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

/** Shown until the first request succeeds: the request, its response and possible causes. */
export function StoreDown({ problem }: { readonly problem: Problem }) {
  useTitle('Unavailable')
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
          <h1>{isStore ? 'Store unavailable' : problem.message}</h1>
        </div>
        <p role="alert">{problem.detail}</p>
        <Facts
          facts={[
            ['Request', <code>{`${window.location.origin}${base}api/v1/session`}</code>],
            ['Response', problem.status === 0 ? 'none' : `${problem.status} ${problem.code}`],
            ['Request id', problem.requestId && <code>{problem.requestId}</code>],
            ['Attempts', `${tries.value}, repeated every 2 s`],
          ]}
        />
        <h2>Possible causes</h2>
        <ul class="causes">
          {(isStore ? STORE_CAUSES : SERVER_CAUSES).map(cause => (
            <li key={cause}>{cause}</li>
          ))}
        </ul>
        <div class="row">
          <Button text="Retry now" icon="retry" onPress={again} />
          <span class="muted">The page continues when the server responds.</span>
        </div>
      </div>
    </main>
  )
}

const SERVER_CAUSES = [
  'The server is stopped: check its log.',
  'A proxy can’t reach the server.',
  'This device is offline.',
]

const STORE_CAUSES = [
  'PostgreSQL is stopped or out of connections: run chronos doctor.',
  'The SQLite file is locked, or its disk is full.',
  'The schema is newer or older than this server: run chronos migrate status.',
]
