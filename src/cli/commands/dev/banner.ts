import type { StoreInfo } from '../../../store/store.js'
import type { Environment } from '../../io.js'
import { nodeWarning } from '../../node.js'
import { paint, type Style } from '../../output/print.js'
import { oneLine } from '../../output/width.js'
import { ECHO_PATH } from './echo.js'

interface Try {
  readonly what: string
  readonly command: string
}

/** Addresses, and commands to try, which can be copied as they are. */
export function banner(url: string, info: StoreInfo, env: Environment, style: Style): string {
  const strong = (text: string): string => paint(text, 'strong', style)
  const dim = (text: string): string => paint(text, 'dim', style)
  const between = style.unicode ? ' · ' : ', '
  const base = url.replace(/\/$/, '')
  const facts: readonly (readonly [string, string])[] = [
    ['Dashboard', strong(url)],
    ['API', `${base}/api/v1  ${dim(`${base}/api/openapi.json`)}`],
    ['Store', oneLine(info.location)],
  ]
  const tries = triesAt(base, started(env)).map(
    ({ what, command }, index) => `  ${index + 1}. ${what}\n     ${dim('$')} ${command}\n`,
  )
  return [
    `${strong('Chronos is running')}${between}${dim(`Node ${process.version}${between}${info.engine}`)}\n\n`,
    ...facts.map(([name, words]) => `  ${name.padEnd(10)} ${words}\n`),
    ...nodeLine(style),
    `\n${strong('Three things to try')}, in another terminal:\n\n`,
    ...tries,
    `\n${dim('Ctrl-C stops it; jobs stay in the store.')}\n`,
  ].join('')
}

function triesAt(base: string, chronos: string): readonly Try[] {
  const at = `--url ${base}`
  return [
    {
      what: 'call a URL that fails twice and is retried; watch it in the dashboard',
      command: `${chronos} http POST '${base}${ECHO_PATH}?fail=2' --wait ${at}`,
    },
    {
      what: 'call a URL every ten seconds',
      command: `${chronos} schedules put ping --every 10s --call ${base}${ECHO_PATH} ${at}`,
    },
    { what: 'watch queues, failures and workers live', command: `${chronos} top ${at}` },
  ]
}

/** The name of the program, as the user started it. */
const started = (env: Environment): string => (env['npm_command'] === undefined ? 'chronos' : 'npx chronos-jobs')

function nodeLine(style: Style): readonly string[] {
  const words = nodeWarning()
  return words === undefined ? [] : [`  ${'Note'.padEnd(10)} ${paint(`Node 20 ${words}`, 'warn', style)}\n`]
}
