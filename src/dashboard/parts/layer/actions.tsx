import { type KeyBinding, useKeys } from '../../shell/keys.js'
import { Button } from '../button.js'
import { Menu, type MenuItem } from './menu.js'

/** Something that can be done with a thing, on its page and in its row of a list. */
export interface Action extends MenuItem {
  /** Its place on the page: a button, or the one that stands out. Others are in the menu. */
  readonly as?: 'button' | 'primary' | undefined
}

interface ActionsProps {
  readonly label: string
  readonly actions: readonly (Action | false | undefined)[]
}

/** The actions of the thing that a page shows: buttons, a menu for the others, and their keys. */
export function PageActions({ label, actions }: ActionsProps) {
  const all = actions.filter(action => action !== undefined && action !== false)
  useKeys(all.flatMap(keyOf))
  const others = all.filter(({ as }) => as === undefined)
  return (
    <>
      {all.map(
        ({ as, text, icon, hint, tone, href, shortcut, onPress }) =>
          as && (
            <Button
              text={text}
              key={text}
              tone={as === 'primary' ? 'primary' : (tone ?? 'normal')}
              icon={icon}
              tip={hint}
              href={href}
              shortcut={shortcut}
              onPress={onPress}
            />
          ),
      )}
      {others.length > 0 && <Menu label={label} tone="normal" items={others} />}
    </>
  )
}

function keyOf({ shortcut, text, onPress }: Action): readonly KeyBinding[] {
  if (shortcut === undefined || onPress === undefined) return []
  return [{ keys: shortcut, does: text.replace(' …', ''), group: 'Actions', run: onPress }]
}

/** The actions of a row. The keys belong to the page. */
export function RowActions({ label, actions }: ActionsProps) {
  const items = actions.map(action => action && { ...action, shortcut: undefined })
  return items.some(Boolean) ? <Menu label={label} size="sm" items={items} /> : null
}
