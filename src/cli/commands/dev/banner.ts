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

/** What is running, where, and what to do next. Every command can be copied as it stands. */
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
    `\n${dim('Ctrl-C stops it; the jobs stay in the store.')}\n`,
  ].join('')
}

function triesAt(base: string, chronos: string): readonly Try[] {
  const at = `--url ${base}`
  return [
    {
      what: 'a call that fails twice and is retried: watch it in the dashboard',
      command: `${chronos} http POST '${base}${ECHO_PATH}?fail=2' --wait ${at}`,
    },
    {
      what: 'a call every ten seconds',
      command: `${chronos} schedules put tick --every 10s --call ${base}${ECHO_PATH} ${at}`,
    },
    { what: 'everything at a glance, live', command: `${chronos} top ${at}` },
  ]
}

/** As whoever reads it can say it, too. */
const started = (env: Environment): string => (env['npm_command'] === undefined ? 'chronos' : 'npx chronos')

function nodeLine(style: Style): readonly string[] {
  const words = nodeWarning()
  return words === undefined ? [] : [`  ${'Note'.padEnd(10)} ${paint(`Node 20 ${words}`, 'warn', style)}\n`]
}
