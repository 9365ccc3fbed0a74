import { useSignal } from '@preact/signals'
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

type Screen = ComponentType<ScreenProps>

/** The files that contain a screen; other files of a folder are parts of its screens. */
const FILES = import.meta.glob<{ readonly default: Screen }>([
  './screens/*/{overview,queues,queue,workers,worker,system,audit-log,tokens}.tsx',
  './screens/*/{names,name,jobs,job,new-job,dead,error-group,incident,redrives,redrive}.tsx',
  './screens/*/{schedules,schedule,schedule-editor,policies,webhooks,webhook,dependencies,alerts}.tsx',
])
const BY_NAME = new Map(Object.entries(FILES).map(([path, load]) => [/([^/]+)\.tsx$/.exec(path)?.[1], load]))
const SKELETON_AFTER_MS = 150
const loaded = new Map<string, Screen>()

interface LazyProps extends ScreenProps {
  readonly name: string
}

/** A screen whose code is loaded when it is first opened. */
export function LazyScreen({ name, ...props }: LazyProps) {
  const known = useSignal<{ readonly screen: Screen } | undefined>(found(name))
  const isLost = useSignal(false)
  const isSlow = useSignal(false)
  useEffect(() => {
    if (known.peek()) return undefined
    void load(name).then(screen => {
      if (screen) known.value = { screen }
      else isLost.value = true
    })
    return later(SKELETON_AFTER_MS, () => {
      isSlow.value = true
    })
  }, [])
  if (isLost.value) return <Outdated />
  if (known.value) return <known.value.screen {...props} />
  return isSlow.value && props.onClose === undefined ? <Skeleton lines={8} /> : null
}

function found(name: string): { readonly screen: Screen } | undefined {
  const screen = loaded.get(name)
  return screen && { screen }
}

async function load(name: string): Promise<Screen | undefined> {
  try {
    const { default: screen } = await BY_NAME.get(name)!()
    loaded.set(name, screen)
    return screen
  } catch {
    return undefined
  }
}

/** Loads the code of a screen before it is opened. */
export function prefetch(name: string): void {
  if (!loaded.has(name)) void load(name)
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
