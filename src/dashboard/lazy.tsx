import { signal, useSignal } from '@preact/signals'
import type { ComponentType } from 'preact'
import { useEffect } from 'preact/hooks'
import { later } from './data/clock.js'
import { Button } from './parts/button.js'
import { Empty, Skeleton } from './parts/empty.js'

export interface ScreenProps {
  /** The parameters of its path, such as the id of a job. */
  readonly params: Readonly<Record<string, string>>
  /** Set when the screen is shown in a drawer over another one. */
  readonly onClose?: () => void
}

export type Screen = ComponentType<ScreenProps>

const SKELETON_AFTER_MS = 150
const screens = signal<Readonly<Record<string, Screen>> | undefined>(undefined)
const isLost = signal(false)

interface LazyProps extends ScreenProps {
  readonly name: string
}

/** A screen whose code may still have to be loaded. */
export function LazyScreen({ name, ...props }: LazyProps) {
  const isSlow = useSignal(false)
  useEffect(() => {
    if (screens.peek()) return undefined
    void loadScreens()
    return later(SKELETON_AFTER_MS, () => {
      isSlow.value = true
    })
  }, [])
  const Screen = screens.value?.[name]
  if (Screen) return <Screen {...props} />
  if (isLost.value) return <Outdated />
  return isSlow.value && props.onClose === undefined ? <Skeleton lines={8} /> : null
}

/** Loads the code of all screens, which is one file. */
export async function loadScreens(): Promise<void> {
  try {
    screens.value = (await import('./screens/screens.js')).SCREENS
  } catch {
    isLost.value = true
  }
}

function Outdated() {
  return (
    <Empty
      icon="redrive"
      title="New version available"
      actions={<Button text="Reload page" tone="primary" onPress={() => window.location.reload()} />}
    >
      The server was updated after this page was opened.
    </Empty>
  )
}
