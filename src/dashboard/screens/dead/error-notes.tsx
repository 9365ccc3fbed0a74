import { useSignal } from '@preact/signals'
import type { ErrorGroupView } from '../../../engine/dead/dead.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { may, session } from '../../data/session.js'
import { Button, IconButton } from '../../parts/button.js'
import { Field, Input, TextArea } from '../../parts/form/field.js'
import { Panel } from '../../parts/panel.js'
import { Time } from '../../parts/time.js'

interface ErrorNotesProps {
  readonly group: ErrorGroupView
  readonly after: () => void
}

/** Who looks after the error, and what people wrote about it. */
export function ErrorNotes({ group, after }: ErrorNotesProps) {
  return (
    <Panel title="Notes">
      <div class="stack">
        <Assignee group={group} after={after} />
        <Notes group={group} after={after} />
      </div>
    </Panel>
  )
}

function Assignee({ group: { fingerprint, tenantId, assignee }, after }: ErrorNotesProps) {
  const isEditing = useSignal(false)
  const name = useSignal(assignee ?? '')
  const set = (next: string | null): void => {
    isEditing.value = false
    void act({
      run: () => api.dead.assign(fingerprint, next, tenantId),
      done: next === null ? 'Assignee removed' : `Assigned to ${next}`,
      after,
    })
  }
  const own = session.value?.authRequired ? session.value.name : undefined
  if (isEditing.value) {
    return (
      <form
        class="row wrap"
        onSubmit={event => {
          event.preventDefault()
          const given = name.value.trim()
          set(given === '' ? null : given)
        }}
      >
        <Field label="Assignee" hint="Leave it empty to remove the name">
          <Input value={name} autoFocus />
        </Field>
        <Button text="Assign" type="submit" tone="primary" size="sm" />
        <Button text="Cancel" size="sm" onPress={() => (isEditing.value = false)} />
      </form>
    )
  }
  return (
    <div class="row wrap apart">
      <span>{assignee === undefined ? <span class="muted">Not assigned</span> : <>Assigned to {assignee}</>}</span>
      {may('operator') && (
        <span class="row tight">
          {own !== undefined && own !== assignee && <Button text="Assign to me" size="sm" onPress={() => set(own)} />}
          <Button
            text={assignee === undefined ? 'Assign' : 'Change'}
            size="sm"
            onPress={() => {
              name.value = assignee ?? ''
              isEditing.value = true
            }}
          />
        </span>
      )}
    </div>
  )
}

function Notes({ group: { fingerprint, tenantId, notes = [] }, after }: ErrorNotesProps) {
  const text = useSignal('')
  const add = (event: Event): void => {
    event.preventDefault()
    if (text.value.trim() === '') return
    void act({
      run: () => api.dead.addNote(fingerprint, text.value.trim(), tenantId),
      done: 'Note added',
      after: () => {
        text.value = ''
        after()
      },
    })
  }
  return (
    <>
      {notes.length > 0 && (
        <ul class="error-notes">
          {notes.map(note => (
            <li key={note.id}>
              <div class="row apart">
                <span class="muted">
                  {note.by !== undefined && <>{note.by} · </>}
                  <Time at={note.at} />
                </span>
                {may('operator') && (
                  <IconButton
                    icon="trash"
                    label="Remove note"
                    size="sm"
                    onPress={() =>
                      void act({
                        confirm: { title: 'Remove this note?', effect: "This can't be undone.", verb: 'Remove note' },
                        run: () => api.dead.removeNote(fingerprint, note.id, tenantId),
                        done: 'Note removed',
                        after,
                      })
                    }
                  />
                )}
              </div>
              <p>{note.text}</p>
            </li>
          ))}
        </ul>
      )}
      {may('operator') ? (
        <form class="stack tight" onSubmit={add}>
          <Field label="New note">
            <TextArea value={text} rows={2} placeholder="What is known about this error" />
          </Field>
          <div>
            <Button
              text="Add note"
              type="submit"
              size="sm"
              disabled={text.value.trim() === '' && 'Write a note first'}
              tip={text.value.trim() === '' ? 'Enter a text first' : undefined}
            />
          </div>
        </form>
      ) : (
        notes.length === 0 && <p class="muted">There are no notes.</p>
      )}
    </>
  )
}
