import { useSignal } from '@preact/signals'
import { asProblem, type Problem } from '../../data/http.js'
import { signIn } from '../../data/session.js'
import { Button } from '../../parts/button.js'
import { Field, Input } from '../../parts/form/field.js'
import { Mark } from '../../parts/icon.js'
import { useTitle } from '../../shell/title.js'

/** Exchanges a token for a cookie that scripts can't read. */
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
          hint="From the administrator of this server. It is sent once and not stored in the browser."
        >
          <Input value={token} type="password" autoFocus autoComplete="current-password" mono />
        </Field>
        <Button
          text="Sign in"
          tone="primary"
          type="submit"
          busy={isBusy.value}
          disabled={token.value.trim() === '' && 'Enter a token first'}
        />
        <p class="muted">
          No token yet? An administrator can create one with <code>chronos tokens create</code>.
        </p>
      </form>
    </main>
  )
}

function saidOf({ status, detail }: Problem): string {
  if (status === 401) return 'The token is unknown, revoked or expired.'
  return status === 429 ? 'Too many wrong tokens. Try again later.' : detail
}
