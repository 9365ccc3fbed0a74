import { useSignal } from '@preact/signals'
import { asked, itemsText, typedFor } from '../../data/actions.js'
import { Editor } from '../form/editor.js'
import { Field, Input } from '../form/field.js'

/** Shows the dialogs of `confirm` and `act`. Rendered once. */
export function ConfirmHost() {
  const question = asked.value
  return question ? <Question key={question.title} question={question} /> : null
}

function Question({ question }: { readonly question: NonNullable<typeof asked.value> }) {
  const typed = useSignal('')
  const wanted = typedFor(question)
  const isReady = wanted === undefined || typed.value.replace(/[\s,.]/g, '') === wanted
  return (
    <Editor
      size="sm"
      title={question.title}
      verb={question.verb}
      tone={question.tone === 'danger' ? 'danger' : 'primary'}
      cancel={/^Cancel\b/.test(question.verb) ? 'Go back' : 'Cancel'}
      isReady={isReady}
      why="The number is not confirmed."
      onClose={() => question.answer(false)}
      onSave={async () => question.answer(true)}
    >
      <p>{question.effect}</p>
      {question.filter !== undefined && (
        <p class="filter-words">
          <span class="muted">Filter </span>
          <code>{question.filter}</code>
        </p>
      )}
      {wanted !== undefined && (
        <Field label={`Type ${itemsText(question)} to confirm`}>
          <Input value={typed} inputMode="numeric" autoFocus />
        </Field>
      )}
    </Editor>
  )
}
