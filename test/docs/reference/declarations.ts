import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ROOT } from '../../support/tree.js'

/** An interface or a type as it is written in its file, comments included. */
function written(path: string, name: string): string {
  const text = readFileSync(join(ROOT, path), 'utf8')
  const found = new RegExp(`^(?:/\\*\\*[^\\n]*\\*/\\n)?export (?:interface|type) ${name}\\b[\\s\\S]*?\\n}$`, 'm').exec(
    text,
  )
  if (!found) throw new Error(`${path} has no interface ${name}; correct the list of the reference`)
  return found[0]
    .replaceAll(/^( *)readonly /gm, '$1')
    .replaceAll('{ readonly ', '{ ')
    .replaceAll('; readonly ', '; ')
}

interface Section {
  readonly title: string
  readonly about: string
  readonly path: string
  readonly names: readonly string[]
}

const OPTIONS: readonly Section[] = [
  {
    title: 'createChronos',
    about: 'The settings of an instance.',
    path: 'src/engine/client/options.ts',
    names: ['ChronosOptions', 'QueueOptions'],
  },
  {
    title: 'chronos.work',
    about: 'The settings of a worker.',
    path: 'src/engine/client/options.ts',
    names: ['WorkOptions'],
  },
  {
    title: 'The job of a handler',
    about: 'The second argument of `run`.',
    path: 'src/engine/client/definition.ts',
    names: ['JobContext', 'JobClock', 'OnceOptions'],
  },
  {
    title: 'createServer',
    about: 'The settings of a server ([Operating](../operating.md)).',
    path: 'src/server/settings.ts',
    names: ['ServerOptions'],
  },
]

const EVENTS: readonly Section[] = [
  {
    title: 'Events',
    about: 'The names, and what a listener receives.',
    path: 'src/core/job/event.ts',
    names: ['Events', 'EventJob'],
  },
]

function page(title: string, about: string, sections: readonly Section[]): string {
  const parts = sections.map(section => {
    const code = section.names.map(name => written(section.path, name)).join('\n\n')
    return `## ${section.title}\n\n${section.about}\n\n\`\`\`typescript\n${code}\n\`\`\``
  })
  return `# ${title}\n\n${about}\n\n${parts.join('\n\n')}\n`
}

export function optionsPage(): string {
  const about =
    'The types of the library, as they are declared. Options of an enqueue are in [Jobs](../jobs.md#enqueue), policies in [Retries](../retries.md), schedules in [Schedules](../schedules.md), settings of processes in [Configuration](../configuration.md).'
  return page('All options', about, OPTIONS)
}

export function eventsPage(): string {
  const about =
    '`chronos.on(name, listener)` receives the events of this process; with [`everywhere: true`](../results.md#events-of-all-processes), those of all processes. [Webhooks](../webhooks.md) send most of them to a URL.'
  return page('All events', about, EVENTS)
}
