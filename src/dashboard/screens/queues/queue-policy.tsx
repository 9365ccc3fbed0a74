import '../../simulator/simulator.css'
import { useSignal } from '@preact/signals'
import { mergePolicies, type PartialPolicy } from '../../../core/policy/policy.js'
import { PRESETS } from '../../../core/policy/presets.js'
import { preview, typicalStarts } from '../../../core/policy/preview.js'
import type { QueueReport } from '../../../engine/jobs/queue-report.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { may } from '../../data/session.js'
import { Button } from '../../parts/button.js'
import { Editor } from '../../parts/form/editor.js'
import { Panel } from '../../parts/panel.js'
import { PolicyFields } from '../../policy/policy-fields.js'
import { choiceOf, formOf, type PolicyChoice, policyOf } from '../../policy/policy-form.js'
import { policyWords } from '../../policy/policy-words.js'
import { DelayTable } from '../../simulator/delay-table.js'

interface QueuePolicyProps {
  readonly queue: QueueReport
  readonly after: () => void
}

export function QueuePolicy({ queue, after }: QueuePolicyProps) {
  const isOpen = useSignal(false)
  const { retry, name } = queue
  return (
    <Panel
      title="Retry policy"
      actions={
        may('admin') && (
          <Button
            text={retry ? 'Change override' : 'Set override'}
            size="sm"
            icon="edit"
            onPress={() => (isOpen.value = true)}
          />
        )
      }
    >
      {retry ? (
        <div class="stack tight">
          <p>{policyWords(whole(retry))}</p>
          <p class="muted">
            Set at run time. It overrides the policy of this queue in the code; the policy of a job overrides it.
          </p>
          {may('admin') && (
            <div>
              <Button
                text="Remove override"
                size="sm"
                tone="quiet"
                icon="close"
                onPress={() => void takeAway(name, after)}
              />
            </div>
          )}
        </div>
      ) : (
        <p class="muted">
          Defined by the code: the job’s definition, then the queue’s options, then the instance’s defaults.
        </p>
      )}
      {isOpen.value && <PolicyDialog queue={queue} after={after} onClose={() => (isOpen.value = false)} />}
    </Panel>
  )
}

/** Missing settings are filled with the defaults. */
const whole = (retry: PartialPolicy) => mergePolicies(retry, PRESETS.standard)

function takeAway(name: string, after: () => void): Promise<unknown> {
  return act({
    confirm: {
      title: `Remove the policy override of ${name}?`,
      effect: 'Jobs use the policy of the code again from their next claim.',
      verb: 'Remove override',
    },
    run: () => api.queues.set(name, { retry: null }),
    done: `Removed the policy override of ${name}`,
    after,
  })
}

function PolicyDialog({ queue, after, onClose }: QueuePolicyProps & { readonly onClose: () => void }) {
  const choice = useSignal<PolicyChoice>(
    queue.retry ? { preset: 'standard', form: formOf(whole(queue.retry)) } : choiceOf('standard'),
  )
  const policy = attempted(choice.value)
  return (
    <Editor
      size="lg"
      title={`Retry policy of ${queue.name}`}
      verb="Set policy"
      onClose={onClose}
      isReady={'policy' in policy}
      onSave={async () =>
        'policy' in policy &&
        act({
          run: () => api.queues.set(queue.name, { retry: policy.policy }),
          done: `Set the policy of ${queue.name}; jobs use it from their next claim`,
          after,
        })
      }
    >
      <PolicyFields title="Policy" choice={choice.value} onChange={next => (choice.value = next)} />
      {'policy' in policy ? (
        <>
          <p class="ink-2">{policyWords(policy.policy)}</p>
          <DelayTable rows={preview(policy.policy)} typicalMs={typicalStarts(policy.policy)} />
        </>
      ) : (
        <p class="dead" role="alert">
          {policy.problem}
        </p>
      )}
    </Editor>
  )
}

function attempted({
  form,
}: PolicyChoice): { readonly policy: ReturnType<typeof policyOf> } | { readonly problem: string } {
  try {
    return { policy: policyOf(form) }
  } catch (error) {
    return { problem: error instanceof Error ? error.message : String(error) }
  }
}
