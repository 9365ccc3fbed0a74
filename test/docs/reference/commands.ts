import type { Command } from 'commander'
import type { Io } from '../../../src/cli/io.js'
import { commandsOf } from '../../../src/cli/main.js'

const SILENT: Io = {
  stdout: { write() {}, columns: 80 },
  stderr: { write() {}, columns: 80 },
  env: {},
  interrupted: new AbortController().signal,
}

export const program: Command = commandsOf(SILENT, () => {})

/** Every command, groups before their members, with the words that call it. */
export function everyCommand(command: Command = program, words: readonly string[] = []): [string, Command][] {
  const below = command.commands.filter(each => each.name() !== 'help')
  return below.flatMap(each => {
    const name = [...words, each.name()]
    return [[name.join(' '), each] as [string, Command], ...everyCommand(each, name)]
  })
}

export function commandsPage(): string {
  const sections = everyCommand().map(([name, command]) => {
    const depth = name.includes(' ') ? '###' : '##'
    return `${depth} chronos ${name}\n\n\`\`\`text\n${command.helpInformation().trim()}\n\`\`\``
  })
  return `# All commands\n\nThe help of every command and its flags. [The command line](../cli.md) explains how they are used.\n\n${sections.join('\n\n')}\n`
}
