import { useSignal } from '@preact/signals'
import type { SavedView } from '../../../core/saved-view/saved-view.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { plural } from '../../data/format.js'
import { useQuery } from '../../data/query.js'
import { may } from '../../data/session.js'
import { go, path, query } from '../../shell/router.js'
import { Button } from '../button.js'
import { Field, Input } from '../form/field.js'
import { Icon } from '../icon.js'
import { Dialog } from '../layer/dialog.js'
import { Menu } from '../layer/menu.js'

/** What belongs to the place in a list, not to its filter. */
const NOT_SAVED: readonly string[] = ['cursor', 'open']

const currentQuery = (): string =>
  new URLSearchParams(Object.entries(query.value).filter(([key]) => !NOT_SAVED.includes(key))).toString()

/** The saved filters of a list: a menu to open them, and a dialog to save and delete them. */
export function SavedViews({ screen }: { readonly screen: SavedView['screen'] }) {
  const found = useQuery('saved views', api.savedViews.list, {})
  const isOpen = useSignal(false)
  const views = (found.data?.data ?? []).filter(view => view.screen === screen)
  const shown = currentQuery()
  if (views.length === 0 && !may('operator')) return null
  return (
    <>
      <Menu
        label="Saved views"
        tone="normal"
        items={[
          ...views.map(view => ({
            text: view.name,
            hint: `saved by ${view.owner}`,
            checked: view.query === shown,
            onPress: () => go(path.value, Object.fromEntries(new URLSearchParams(view.query))),
          })),
          may('operator') && {
            text: 'Save or delete views …',
            icon: 'edit' as const,
            onPress: () => (isOpen.value = true),
          },
        ]}
      >
        <Icon name="filter" size={14} />
        Saved views
      </Menu>
      {isOpen.value && (
        <Manage screen={screen} views={views} after={found.refetch} onClose={() => (isOpen.value = false)} />
      )}
    </>
  )
}

interface ManageProps {
  readonly screen: SavedView['screen']
  readonly views: readonly SavedView[]
  readonly after: () => void
  readonly onClose: () => void
}

function Manage({ screen, views, after, onClose }: ManageProps) {
  const name = useSignal('')
  const filter = currentQuery()
  const problem =
    filter === ''
      ? 'This list has no filter to save.'
      : views.some(view => view.name === name.value.trim())
        ? 'There is already a view of this name.'
        : undefined
  const save = (event: Event): void => {
    event.preventDefault()
    if (problem !== undefined || name.value.trim() === '') return
    void act({
      run: () => api.savedViews.create({ name: name.value.trim(), screen, query: filter }),
      done: ({ name: saved }) => `View ${saved} saved`,
      after: () => {
        after()
        onClose()
      },
    })
  }
  const remove = (view: SavedView): void =>
    void act({ run: () => api.savedViews.delete(view.id), done: () => `View ${view.name} deleted`, after })
  return (
    <Dialog size="sm" title="Saved views" onClose={onClose}>
      <form class="stack" onSubmit={save}>
        <Field label="Name" hint="Everyone who may see this list sees the view." problem={problem}>
          <Input value={name} autoFocus />
        </Field>
        <div class="row end">
          <Button text="Cancel" onPress={onClose} />
          <Button
            text="Save view"
            tone="primary"
            type="submit"
            disabled={problem !== undefined || name.value.trim() === ''}
          />
        </div>
      </form>
      {views.length > 0 && (
        <section class="stack tight" aria-label="Views of this list">
          <h3>{plural(views.length, 'view')}</h3>
          <ul class="stack tight">
            {views.map(view => (
              <li key={view.id} class="row apart">
                <span class="clip">
                  {view.name} <span class="muted">by {view.owner}</span>
                </span>
                <Button text={`Delete ${view.name}`} size="sm" tone="quiet" icon="trash" onPress={() => remove(view)} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </Dialog>
  )
}
