import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import * as api from '../data/api.js'
import { now } from '../data/clock.js'
import { copyText } from '../data/copy.js'
import { plural, TIME_MODES, timeMode } from '../data/format.js'
import { trouble } from '../data/http.js'
import { heardAt, liveState, PACES, pace } from '../data/live.js'
import { useQuery } from '../data/query.js'
import { rangeParameters } from '../data/range.js'
import { isTenant, may, session, signOut } from '../data/session.js'
import { LazyScreen } from '../lazy.js'
import { Button } from '../parts/button.js'
import { Icon, Mark } from '../parts/icon.js'
import { Drawer } from '../parts/layer/dialog.js'
import { Menu } from '../parts/layer/menu.js'
import { isAt, type Place, placesFor } from '../routes.js'
import { KeyMap } from './key-map.js'
import { type KeyBinding, useKeys } from './keys.js'
import { Palette } from './palette.js'
import { RangeMenu } from './range-menu.js'
import { go, href, path, query, setQuery } from './router.js'
import { nextTheme, THEMES, theme } from './theme.js'
import { unseenDead, unseenDeadText } from './title.js'
import { announce } from './toasts.js'

export function Shell({ children }: { readonly children: ComponentChildren }) {
  const isNavOpen = useSignal(false)
  const open = query.value['open']
  useUnseenDead()
  useShellKeys()
  useEffect(() => {
    isNavOpen.value = false
  }, [path.value])
  return (
    <>
      <button type="button" class="skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <div class="shell">
        <aside class="side">
          <Brand />
          <Places />
          <p class="foot">Chronos {session.value?.version}</p>
        </aside>
        <div class="grow">
          <Bar />
          {trouble.value && <Trouble />}
          {children}
        </div>
        <TabBar onMore={() => (isNavOpen.value = true)} />
      </div>
      {isNavOpen.value && (
        <Drawer from="below" title="Go to" onClose={() => (isNavOpen.value = false)}>
          <div class="side">
            <Places />
          </div>
        </Drawer>
      )}
      {open === 'search' && <Palette onClose={close} />}
      {open === 'keys' && <KeyMap onClose={close} />}
      {open === 'new-job' && may('operator') && <LazyScreen name="new-job" params={{}} onClose={close} />}
    </>
  )
}

/** Open layers are in the URL: Back closes them, and closing one leaves no history entry. */
let isOpenedHere = false

function toggle(what: string): void {
  if (query.peek()['open'] === what) {
    close()
    return
  }
  isOpenedHere = true
  setQuery({ open: what })
}

function close(): void {
  if (isOpenedHere) window.history.back()
  else setQuery({ open: undefined }, { replace: true })
  isOpenedHere = false
}

function useUnseenDead(): void {
  const { data } = useQuery(
    'unseen-dead',
    signal => api.jobs.list({ phase: 'dead', acknowledged: false, limit: 1 }, signal),
    { topics: ['dead'] },
  )
  useEffect(() => {
    const [before, found] = [unseenDead.peek()?.value, data?.count.value]
    unseenDead.value = data?.count
    if (before !== undefined && found !== undefined && found > before) {
      announce(plural(found - before, 'new dead letter'))
    }
  }, [data])
}

function useShellKeys(): void {
  const places = placesFor(isTenant.value, may('admin')).flatMap(group => group.places)
  const goTo: KeyBinding[] = places.flatMap(({ key, text, path: to }) =>
    key === undefined ? [] : [{ keys: `g ${key}`, does: text, group: 'Go to', run: () => go(to) }],
  )
  useKeys([
    ...goTo,
    { keys: '?', does: 'Keyboard shortcuts', group: 'Everywhere', run: () => toggle('keys') },
    { keys: '/', does: 'Search', group: 'Everywhere', run: () => toggle('search') },
    { keys: 'u', does: 'Back', group: 'Everywhere', run: () => window.history.back() },
    { keys: 'L', does: 'Pause or resume updates', group: 'Everywhere', run: toggleLive },
    { keys: 't', does: 'Switch theme', group: 'Everywhere', run: nextTheme },
    ...(may('operator')
      ? [{ keys: 'c', does: 'Create job', group: 'Everywhere', run: () => toggle('new-job') } as const]
      : []),
  ])
  useEffect(() => {
    // With a modifier, so that it also works in a text field.
    const listen = (event: KeyboardEvent): void => {
      if (event.key !== 'k' || !(event.metaKey || event.ctrlKey)) return
      event.preventDefault()
      toggle('search')
    }
    document.addEventListener('keydown', listen)
    return () => document.removeEventListener('keydown', listen)
  }, [])
}

function toggleLive(): void {
  pace.value = pace.peek() === 'paused' ? 'live' : 'paused'
}

function Brand() {
  const env = session.value?.env
  return (
    <a class="brand" href={href('/')}>
      <Mark />
      <span>Chronos</span>
      {env && (
        <span
          class="env clip"
          data-coloured={env.color !== undefined}
          ref={badge => {
            if (badge && env.color) badge.style.setProperty('--env', env.color)
          }}
        >
          {env.name}
        </span>
      )}
    </a>
  )
}

function Places() {
  return (
    <nav aria-label="Screens">
      {placesFor(isTenant.value, may('admin')).map(({ group, places }) => (
        <div key={group ?? ''}>
          {group !== undefined && <p class="group">{group}</p>}
          {places.map(place => (
            <PlaceLink key={place.path} place={place} />
          ))}
        </div>
      ))}
    </nav>
  )
}

function PlaceLink({ place }: { readonly place: Place }) {
  const tally = place.path === '/dead' ? unseenDeadText.value : ''
  return (
    <a
      href={href(place.path, place.range === undefined ? {} : rangeParameters())}
      aria-current={isAt(place.path, path.value) ? 'page' : undefined}
    >
      <Icon name={place.icon} />
      <span>{place.text}</span>
      {tally !== '' && <span class="tally dead">{tally}</span>}
    </a>
  )
}

/** On phones: the four most important screens and a button for the others. */
function TabBar({ onMore }: { readonly onMore: () => void }) {
  const wanted = isTenant.value ? ['/jobs', '/dead', '/redrives', '/schedules'] : ['/', '/queues', '/jobs', '/dead']
  const places = placesFor(isTenant.value, false).flatMap(group => group.places)
  return (
    <nav class="tabbar" aria-label="Main screens">
      {wanted.map(to => {
        const place = places.find(each => each.path === to)!
        return <PlaceLink key={to} place={{ ...place, text: to === '/dead' ? 'Dead' : place.text }} />
      })}
      <button type="button" onClick={onMore}>
        <Icon name="menu" />
        <span>More</span>
      </button>
    </nav>
  )
}

function Bar() {
  const own = session.value
  return (
    <header class="bar">
      <button type="button" class="search" onClick={() => toggle('search')}>
        <Icon name="search" size={14} />
        <span class="clip">
          Search<span class="hint"> jobs, queues, screens</span>
        </span>
        <kbd>/</kbd>
      </button>
      <RangeMenu />
      <LiveMenu />
      <Menu
        label="Display settings"
        icon={theme.value === 'auto' ? 'auto' : theme.value === 'dark' ? 'moon' : 'sun'}
        items={[
          ...THEMES.map(each => ({
            text: { auto: 'System theme', light: 'Light theme', dark: 'Dark theme' }[each],
            checked: theme.value === each,
            onPress: () => (theme.value = each),
          })),
          ...TIME_MODES.map(each => ({
            text: { relative: 'Relative time', local: 'Local time', utc: 'UTC' }[each],
            checked: timeMode.value === each,
            onPress: () => (timeMode.value = each),
          })),
        ]}
      />
      <Menu
        label="Help and account"
        icon={own?.authRequired ? 'user' : 'help'}
        items={[
          { text: 'Keyboard shortcuts', icon: 'help', shortcut: '?', onPress: () => toggle('keys') },
          {
            text: 'Copy link',
            icon: 'link',
            onPress: () => void copyText(window.location.href, 'Link copied'),
          },
          { text: 'API reference', icon: 'external', href: `${href('/')}api/openapi.json` },
          own?.by === 'session' && {
            text: 'Sign out',
            hint: `${own.name ?? 'Signed in'}, ${own.role}`,
            icon: 'out' as const,
            onPress: () => void signOut(),
          },
        ]}
      />
      {may('operator') && (
        <span class="new-job">
          <Button text="Create job" tone="primary" icon="plus" shortcut="c" onPress={() => toggle('new-job')} />
        </span>
      )}
    </header>
  )
}

const WORDS = {
  live: 'Live',
  polling: 'Every 5 s',
  reconnecting: 'Reconnecting',
  paused: 'Paused',
  held: 'Held',
} as const
/** Older data is marked as stale. */
const STALE_MS = 30_000

function LiveMenu() {
  const state = liveState.value
  const age = heardAt.value === 0 ? 0 : now.value - heardAt.value
  const isStale = state === 'reconnecting' && age > STALE_MS
  const words = state === 'polling' && pace.value !== 'live' ? `Every ${pace.value} s` : WORDS[state]
  return (
    <span class="live-menu" data-state={isStale ? 'stale' : state}>
      <Menu
        label={`Updates: ${words}`}
        items={PACES.map(each => ({
          text: each === 'live' ? 'Live' : each === 'paused' ? 'Paused' : `Every ${each} s`,
          checked: pace.value === each,
          onPress: () => (pace.value = each),
        }))}
      >
        <span class="dot" />
        <span class="words">{isStale ? `Stale ${Math.round(age / 1_000)} s` : words}</span>
      </Menu>
    </span>
  )
}

/** Explains why the data is not updated. */
function Trouble() {
  const problem = trouble.value!
  return (
    <div class="trouble" role="alert">
      <Icon name="warning" />
      <span class="strong">{problem.message}</span>
      <span class="grow">{problem.detail === problem.message ? '' : problem.detail}</span>
      <span>The page shows the last known data and reconnects automatically.</span>
    </div>
  )
}
