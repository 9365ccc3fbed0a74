import { Dialog } from '../parts/layer/dialog.js'
import { bindings, type KeyGroup } from './keys.js'

const GROUPS: readonly KeyGroup[] = ['Everywhere', 'Go to', 'Lists', 'Actions']

/** All shortcuts of the screen. Dangerous actions need Shift. */
export function KeyMap({ onClose }: { readonly onClose: () => void }) {
  // A binding of the screen overrides a global one.
  const known = new Map(bindings.value.map(binding => [binding.keys, binding]))
  return (
    <Dialog size="lg" title="Keyboard shortcuts" onClose={onClose}>
      <div class="keymap">
        {GROUPS.map(group => {
          const own = [...known.values()].filter(binding => binding.group === group)
          return (
            own.length > 0 && (
              <section key={group} class="stack tight">
                <h3>{group}</h3>
                <ul>
                  {own.map(({ keys, does }) => (
                    <li key={keys}>
                      <span>{does}</span>
                      <span class="row tight">
                        {keys.split(' ').map(key => (
                          <kbd key={key}>{key}</kbd>
                        ))}
                      </span>
                    </li>
                  ))}
                </ul>
              </section>
            )
          )
        })}
      </div>
    </Dialog>
  )
}
