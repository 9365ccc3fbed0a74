/** Icons on a grid of 16 pixels with lines of 1.5 pixels. */
const PATHS = {
  overview: 'M2.5 9.5V13m3.7-8v8m3.7-5v5m3.6-9.5V13',
  queues: 'M2.5 4.25h11M2.5 8h11M2.5 11.75h6.5',
  names: 'M2.5 2.75h5.25l5.75 5.75-5 5-6-6zM5.25 5.5v.1',
  jobs: 'M3 2.75h10v10.5H3zM5.75 6h4.5M5.75 8.5h4.5M5.75 11h2.5',
  dead: 'M8 2.25 14.25 13H1.75zM8 6.5v3M8 11.2v.1',
  redrive: 'M2.5 8a5.5 5.5 0 0 1 9.6-3.6L13.5 6M13.5 2.5V6H10M13.5 8a5.5 5.5 0 0 1-9.6 3.6L2.5 10M2.5 13.5V10H6',
  schedules: 'M2.5 3.75h11v9.5h-11zM2.5 6.75h11M5.5 2v3M10.5 2v3M8 8.75v2l1.4.9',
  policies: 'M2 13.25c2.4 0 2.4-3 4-3s1.8-3.6 3.4-3.6S11.6 3 14 2.75',
  webhooks: 'M5.2 10.8a2.2 2.2 0 1 1-1.4-2.6L6 4.4a2.4 2.4 0 1 1 4-.2L11.8 8a2.4 2.4 0 1 1-1.6 3.4H5.2',
  dependencies: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 10.75a2.75 2.75 0 1 0 0-5.5 2.75 2.75 0 0 0 0 5.5z',
  alerts: 'M4 11V7a4 4 0 1 1 8 0v4l1.25 1.25H2.75zM6.75 14h2.5',
  workers: 'M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5v.1M5 11v.1M8 5h3M8 11h3',
  system: 'M3 4.25h10M3 8h10M3 11.75h10M6 2.75v3M10.5 6.5v3M5 10.25v3',
  audit: 'M3.5 2h9v12h-9zM6 5h4M6 7.75h4M6 10.5l1 1 2-2',
  tokens: 'M10.5 9a3.5 3.5 0 1 0-3.3-2.3L2.5 11.4v2.1h2.1l.6-.6v-1.4h1.4l1.2-1.2A3.5 3.5 0 0 0 10.5 9zM11 5v.1',
  incident: 'M1.75 8h3l1.75-5 3 10L11.25 8h3',
  search: 'M7 11.75a4.75 4.75 0 1 0 0-9.5 4.75 4.75 0 0 0 0 9.5zM10.5 10.5l3.25 3.25',
  plus: 'M8 3v10M3 8h10',
  minus: 'M3 8h10',
  close: 'M3.75 3.75l8.5 8.5M12.25 3.75l-8.5 8.5',
  check: 'M3 8.5l3.25 3.25L13 4.75',
  more: 'M3.5 8v.1M8 8v.1M12.5 8v.1',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  left: 'M9.75 3.5 5.25 8l4.5 4.5',
  right: 'M6.25 3.5 10.75 8l-4.5 4.5',
  down: 'M3.5 6.25 8 10.75l4.5-4.5',
  up: 'M3.5 9.75 8 5.25l4.5 4.5',
  copy: 'M5.5 5.5h8v8h-8zM3 10.5H2.5v-8h8V3',
  link: 'M6.75 9.25a2.5 2.5 0 0 0 3.5 0l2.5-2.5a2.5 2.5 0 0 0-3.5-3.5l-.75.75M9.25 6.75a2.5 2.5 0 0 0-3.5 0l-2.5 2.5a2.5 2.5 0 0 0 3.5 3.5l.75-.75',
  pause: 'M5.5 3.25v9.5M10.5 3.25v9.5',
  play: 'M5 3l7.5 5L5 13z',
  stop: 'M4 4h8v8H4z',
  skip: 'M3.5 3.5 9 8l-5.5 4.5zM12 3.5v9',
  retry: 'M13 8a5 5 0 1 1-1.5-3.6L13 5.75M13 2.5v3.25H9.75',
  replay: 'M3 2.75h6.5l3.5 3.5v7H3zM6 8.5h4M8 6.5v4',
  trash: 'M2.75 4.25h10.5M6 4V2.5h4V4M4.25 4.25l.5 9.25h6.5l.5-9.25M6.75 7v4M9.25 7v4',
  cancel: 'M8 13.75a5.75 5.75 0 1 0 0-11.5 5.75 5.75 0 0 0 0 11.5zM4 12 12 4',
  edit: 'M10.75 2.75l2.5 2.5-7.5 7.5-3.25.75.75-3.25z',
  clock: 'M8 13.75a5.75 5.75 0 1 0 0-11.5 5.75 5.75 0 0 0 0 11.5zM8 4.75V8l2.25 1.5',
  sun: 'M8 10.75a2.75 2.75 0 1 0 0-5.5 2.75 2.75 0 0 0 0 5.5zM8 1.5V3M8 13v1.5M1.5 8H3M13 8h1.5M3.4 3.4l1.1 1.1M11.5 11.5l1.1 1.1M3.4 12.6l1.1-1.1M11.5 4.5l1.1-1.1',
  moon: 'M13.25 9.5A5.75 5.75 0 0 1 6.5 2.75a5.75 5.75 0 1 0 6.75 6.75z',
  auto: 'M2.25 3h11.5v8H2.25zM5.5 13.5h5M8 11v2.5',
  help: 'M8 13.75a5.75 5.75 0 1 0 0-11.5 5.75 5.75 0 0 0 0 11.5zM6.25 6.25A1.8 1.8 0 0 1 8 4.9c1 0 1.8.7 1.8 1.6C9.8 7.7 8 7.8 8 9.2M8 11.2v.1',
  info: 'M8 13.75a5.75 5.75 0 1 0 0-11.5 5.75 5.75 0 0 0 0 11.5zM8 7.25v3.75M8 5v.1',
  warning: 'M8 2.25 14.25 13H1.75zM8 6.5v3M8 11.2v.1',
  user: 'M8 8a2.75 2.75 0 1 0 0-5.5A2.75 2.75 0 0 0 8 8zM2.75 13.5a5.25 5.25 0 0 1 10.5 0',
  out: 'M6.5 2.75h-4v10.5h4M6 8h7.5M10.75 5.25 13.5 8l-2.75 2.75',
  external: 'M6.5 3.5h-4v10h10v-4M9 2.5h4.5V7M13.5 2.5 7.5 8.5',
  filter: 'M2 3.5h12M4.25 8h7.5M6.5 12.5h3',
  chart: 'M2.5 2.5v11h11M5 10.5l2.5-3 2 1.5 3.5-4.5',
  database:
    'M8 5.75c2.9 0 5.25-.9 5.25-2S10.9 1.75 8 1.75s-5.25.9-5.25 2 2.35 2 5.25 2zM2.75 3.75v8.5c0 1.1 2.35 2 5.25 2s5.25-.9 5.25-2v-8.5M2.75 8c0 1.1 2.35 2 5.25 2s5.25-.9 5.25-2',
  // States. Each has its own outline, so that colour is never the only difference.
  scheduled: 'M8 13.75a5.75 5.75 0 1 0 0-11.5 5.75 5.75 0 0 0 0 11.5zM8 4.75V8l2.25 1.5',
  queued: 'M3 4.5h10M3 8h10M3 11.5h5',
  retrying: 'M13 8a5 5 0 1 1-1.5-3.6L13 5.75M13 2.5v3.25H9.75',
  running: 'M5 3l7.5 5L5 13z',
  succeeded: 'M3 8.5l3.25 3.25L13 4.75',
  died: 'M3.75 3.75l8.5 8.5M12.25 3.75l-8.5 8.5',
  cancelled: 'M8 13.75a5.75 5.75 0 1 0 0-11.5 5.75 5.75 0 0 0 0 11.5zM4.75 8h6.5',
  lost: 'M2.5 10.5 5 5.5l2.5 5L10 5.5l2.5 5',
} as const

export type IconName = keyof typeof PATHS

export interface IconProps {
  readonly name: IconName
  /** Pixels; default 16. */
  readonly size?: number | undefined
  readonly class?: string | undefined
}

/** Decorative: the text beside it carries the meaning. */
export function Icon({ name, size = 16, class: className }: IconProps) {
  return (
    <svg
      class={className}
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      stroke-width="1.5"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <path d={PATHS[name]} />
    </svg>
  )
}

export function Mark({ size = 22 }: { readonly size?: number }) {
  return (
    <svg class="mark" width={size} height={size} viewBox="0 0 24 24" fill="none" aria-hidden="true">
      <path d="M18.2 7.6A8 8 0 1 0 20 12.6" stroke="currentColor" stroke-width="2.6" stroke-linecap="round" />
      <path
        d="M19 3.2v4.9h-4.9"
        stroke="currentColor"
        stroke-width="2.6"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
      <path
        d="M12 8.2v4.4l3 2"
        stroke="currentColor"
        stroke-width="2.2"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  )
}
