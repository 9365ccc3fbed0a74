import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { asCurl } from '../../data/copy.js'
import { may } from '../../data/session.js'
import { Button } from '../../parts/button.js'
import { CodeSample } from '../../parts/code-sample.js'
import { Panel } from '../../parts/panel.js'
import { base, go, segment } from '../../shell/router.js'

/** An endpoint that fails twice, so that the first job shows retries. */
const echo = (): string => `${window.location.origin}${base}__echo?status=503&fail=2`

const body = (): api.NewJobBody => ({ http: { method: 'POST', url: echo() } })

/** Shown until the first job arrives. */
export function FirstSteps() {
  return (
    <div class="columns main-aside">
      <Panel title="First job">
        <div class="stack">
          <p class="ink-2">
            An HTTP call needs no code. This one fails twice and then succeeds, so you see its retries. This page shows
            the job as soon as it exists.
          </p>
          <CodeSample
            label="First job as code"
            sample={{
              curl: asCurl('POST', '/jobs', body()),
              ts: TYPESCRIPT,
              cli: `chronos http POST '${echo()}'`,
            }}
          />
          {may('operator') && (
            <div>
              <Button
                text="Create job"
                tone="primary"
                icon="play"
                onPress={() =>
                  void act({
                    run: () => api.jobs.create(body()),
                    done: 'Created the first job',
                    after: ({ id }) => go(`/jobs/${segment(id)}`),
                  })
                }
              />
            </div>
          )}
        </div>
      </Panel>
      <Panel title="Next steps">
        <ol class="steps">
          {STEPS.map(([title, text], i) => (
            <li key={title}>
              <span class="number">{i + 1}</span>
              <span>
                <span class="strong">{title}</span>
                <span class="muted">{text}</span>
              </span>
            </li>
          ))}
        </ol>
      </Panel>
    </div>
  )
}

const STEPS: readonly (readonly [title: string, text: string])[] = [
  ['Define your jobs in code', 'with defineJob, a retry policy and a handler'],
  ['Start a worker', 'in your process, or with chronos worker --jobs ./jobs.js'],
  ['Let something fail', 'the timeline of the job shows every run, wait and reason'],
  ['Look at the dead letters', 'equal errors are one group, redriven at a rate'],
]

const TYPESCRIPT = `import { createChronos, defineJob, exponential } from 'chronos-jobs'

const hello = defineJob({
  name: 'hello',
  retry: exponential({ base: '2s', maxRetries: 5 }),
  async run({ to }: { to: string }) {
    if (Math.random() < 0.5) throw new Error('not today')
    return { greeted: to }
  },
})

const chronos = createChronos({ store: 'sqlite:./chronos.db' })
chronos.work([hello])
await chronos.enqueue(hello, { to: 'world' })`
