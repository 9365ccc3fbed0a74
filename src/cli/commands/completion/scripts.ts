import type { Command, Option } from 'commander'
import type { Io } from '../../io.js'
import type { Shell } from './command.js'

/** The words that can follow one command. Its path is `''` for the program itself. */
interface Completion {
  readonly path: string
  readonly commands: readonly Word[]
  readonly options: readonly Choice[]
}

interface Word {
  readonly name: string
  readonly description: string
}

interface Choice extends Word {
  readonly takesValue: boolean
  readonly values: readonly string[]
}

export function printScript(shell: Shell, _: object, io: Io, command: Command): void {
  io.stdout.write(SCRIPTS[shell](vocabulary(command.parent!)))
}

function vocabulary(program: Command, path = ''): readonly Completion[] {
  const commands = program.commands.map(command => ({ name: command.name(), description: command.summary() }))
  const options = [...program.options.filter(option => !option.hidden).map(choiceOf), HELP]
  const below = program.commands.flatMap(command => vocabulary(command, `${path} ${command.name()}`.trim()))
  const values = program.registeredArguments.flatMap(({ argChoices = [] }) => argChoices)
  return [{ path, commands: [...commands, ...values.map(name => ({ name, description: '' }))], options }, ...below]
}

const HELP: Choice = { name: '--help', description: 'show this help', takesValue: false, values: [] }

function choiceOf({ long, short, description, argChoices, required, optional }: Option): Choice {
  return {
    name: long ?? short ?? '',
    description: description,
    takesValue: required || optional,
    values: argChoices ?? [],
  }
}

const SCRIPTS: Readonly<Record<Shell, (completions: readonly Completion[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** One line of a `case` per path: `pattern) act ;;` */
function cases(completions: readonly Completion[], indent: string, act: (completion: Completion) => string): string {
  return completions.map(completion => `${indent}${quoted(completion.path)}) ${act(completion)} ;;\n`).join('')
}

/** Lines for values after an option that has a few known ones: `'jobs list:--state') act ;;` */
function valueCases(completions: readonly Completion[], act: (values: readonly string[]) => string): string {
  return completions
    .flatMap(({ path, options }) => options.map(option => ({ path, ...option })))
    .filter(({ values }) => values.length > 0)
    .map(({ path, name, values }) => `    ${quoted(`${path}:${name}`)}) ${act(values)}; return ;;\n`)
    .join('')
}

function pathPattern(completions: readonly Completion[]): string {
  return completions
    .filter(({ path }) => path !== '')
    .map(({ path }) => quoted(path))
    .join('|')
}

function bashScript(completions: readonly Completion[]): string {
  const reply = (words: readonly string[]): string => `COMPREPLY=($(compgen -W ${quoted(words.join(' '))} -- "$cur"))`
  return `# chronos: completion for bash
_chronos() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD - 1]}" at='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
    case "\${at:+$at }$word" in
      ${pathPattern(completions)}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at:$prev" in
${valueCases(completions, reply)}  esac
  case "$at" in
${cases(completions, '    ', ({ commands, options }) => reply([...commands, ...options].map(({ name }) => name)))}  esac
}
complete -o default -F _chronos chronos
`
}

function zshScript(completions: readonly Completion[]): string {
  const described = ({ name, description }: Word): string =>
    quoted(description === '' ? name : `${name}:${description}`)
  return `#compdef chronos
_chronos() {
  local at='' word
  local -a found
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${at:+$at }$word" in
      ${pathPattern(completions)}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at:\${words[CURRENT-1]}" in
${valueCases(completions, values => `compadd -- ${values.join(' ')}`)}  esac
  case "$at" in
${cases(completions, '    ', ({ commands, options }) => `found=(${[...commands, ...options].map(described).join(' ')})`)}  esac
  _describe 'chronos' found || _files
}
if [ "$funcstack[1]" = '_chronos' ]; then _chronos "$@"; else compdef _chronos chronos; fi
`
}

function fishScript(completions: readonly Completion[]): string {
  const paths = completions.map(({ path }) => path).filter(path => path !== '')
  const when = (path: string): string => `complete -c chronos -n ${quoted(`test (__chronos_at) = "${path}"`)}`
  const description = (text: string): string => (text === '' ? '' : ` -d ${quoted(text)}`)
  const lines = completions.flatMap(({ path, commands, options }) => [
    ...commands.map(({ name, description: words }) => `${when(path)} -f -a ${quoted(name)}${description(words)}`),
    ...options.map(({ name, description: words, takesValue, values }) => {
      const value = values.length > 0 ? ` -x -a ${quoted(values.join(' '))}` : takesValue ? ' -r' : ''
      return `${when(path)} -l ${name.replace(/^--?/, '')}${value}${description(words)}`
    }),
  ])
  return `# chronos: completion for fish
function __chronos_at
  set -l at ''
  for word in (commandline -opc)[2..-1]
    set -l next (string trim -- "$at $word")
    if contains -- $next ${paths.map(quoted).join(' ')}
      set at $next
    end
  end
  echo $at
end
complete -c chronos -e
${lines.join('\n')}
`
}
