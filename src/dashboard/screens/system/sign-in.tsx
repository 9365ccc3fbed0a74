import { useSignal } from '@preact/signals'
import { asProblem, type Problem } from '../../data/http.js'
import { signIn } from '../../data/session.js'
import { Button } from '../../parts/button.js'
import { Field, Input } from '../../parts/field.js'
import { Mark } from '../../parts/icon.js'
import { useTitle } from '../../shell/title.js'

/** Who comes from outside shows a token; the server keeps a cookie that no script can read. */
export function SignIn() {
  useTitle('Sign in')
  const token = useSignal('')
  const problem = useSignal<Problem | undefined>(undefined)
  const isBusy = useSignal(false)
  const submit = async (): Promise<void> => {
    isBusy.value = true
    problem.value = undefined
    try {
      await signIn(token.value.trim())
    } catch (error) {
      problem.value = asProblem(error)
    } finally {
      isBusy.value = false
    }
  }
  return (
    <main class="centre">
      <form
        class="card stack"
        onSubmit={event => {
          event.preventDefault()
          void submit()
        }}
      >
        <div class="row">
          <span class="accent">
            <Mark size={28} />
          </span>
          <h1>Sign in to Chronos</h1>
        </div>
        <Field
          label="Access token"
          problem={problem.value && saidOf(problem.value)}
          hint="From whoever runs this server. It is sent once and not kept in this browser."
        >
          <Input value={token} type="password" autoFocus autoComplete="current-password" mono />
        </Field>
        <Button tone="primary" type="submit" busy={isBusy.value} disabled={token.value.trim() === ''}>
          Sign in
        </Button>
        <p class="muted">
          No token yet? An administrator makes one with <code>chronos tokens create</code>.
        </p>
      </form>
    </main>
  )
}

function saidOf({ status, detail }: Problem): string {
  if (status === 401) return 'This token is unknown, revoked or out of time.'
  return status === 429 ? 'Too many wrong tokens. Wait a little before the next.' : detail
}
