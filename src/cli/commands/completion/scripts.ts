import type { Command, Option } from 'commander'

/** What may follow one command: by its path of names, `''` for the program itself. */
interface Place {
  readonly path: string
  readonly commands: readonly Word[]
  readonly options: readonly Choice[]
}

interface Word {
  readonly name: string
  readonly tells: string
}

interface Choice extends Word {
  readonly takesValue: boolean
  readonly values: readonly string[]
}

export function vocabulary(program: Command, path = ''): readonly Place[] {
  const commands = program.commands.map(command => ({ name: command.name(), tells: command.summary() }))
  const options = [...program.options.filter(option => !option.hidden).map(choiceOf), HELP]
  const below = program.commands.flatMap(command => vocabulary(command, `${path} ${command.name()}`.trim()))
  const values = program.registeredArguments.flatMap(({ argChoices = [] }) => argChoices)
  return [{ path, commands: [...commands, ...values.map(name => ({ name, tells: '' }))], options }, ...below]
}

const HELP: Choice = { name: '--help', tells: 'show this help', takesValue: false, values: [] }

function choiceOf({ long, short, description, argChoices, required, optional }: Option): Choice {
  return { name: long ?? short ?? '', tells: description, takesValue: required || optional, values: argChoices ?? [] }
}

export const SCRIPTS: Readonly<Record<'bash' | 'zsh' | 'fish', (places: readonly Place[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** One line of a `case` per path: `pattern) act ;;` */
function cases(places: readonly Place[], indent: string, act: (place: Place) => string): string {
  return places.map(place => `${indent}${quoted(place.path)}) ${act(place)} ;;\n`).join('')
}

/** Lines for values after an option that has a few known ones: `'jobs list:--state') act ;;` */
function valueCases(places: readonly Place[], act: (values: readonly string[]) => string): string {
  return places
    .flatMap(({ path, options }) => options.map(option => ({ path, ...option })))
    .filter(({ values }) => values.length > 0)
    .map(({ path, name, values }) => `    ${quoted(`${path}:${name}`)}) ${act(values)}; return ;;\n`)
    .join('')
}

function pathPattern(places: readonly Place[]): string {
  return places
    .filter(({ path }) => path !== '')
    .map(({ path }) => quoted(path))
    .join('|')
}

function bashScript(places: readonly Place[]): string {
  const reply = (words: readonly string[]): string => `COMPREPLY=($(compgen -W ${quoted(words.join(' '))} -- "$cur"))`
  return `# chronos: completion for bash
_chronos() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD - 1]}" at='' word
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD - 1}"; do
    case "\${at:+$at }$word" in
      ${pathPattern(places)}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at:$prev" in
${valueCases(places, reply)}  esac
  case "$at" in
${cases(places, '    ', ({ commands, options }) => reply([...commands, ...options].map(({ name }) => name)))}  esac
}
complete -o default -F _chronos chronos
`
}

function zshScript(places: readonly Place[]): string {
  const described = ({ name, tells }: Word): string => quoted(tells === '' ? name : `${name}:${tells}`)
  return `#compdef chronos
_chronos() {
  local at='' word
  local -a found
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "\${at:+$at }$word" in
      ${pathPattern(places)}) at="\${at:+$at }$word" ;;
    esac
  done
  case "$at:\${words[CURRENT-1]}" in
${valueCases(places, values => `compadd -- ${values.join(' ')}`)}  esac
  case "$at" in
${cases(places, '    ', ({ commands, options }) => `found=(${[...commands, ...options].map(described).join(' ')})`)}  esac
  _describe 'chronos' found || _files
}
if [ "$funcstack[1]" = '_chronos' ]; then _chronos "$@"; else compdef _chronos chronos; fi
`
}

function fishScript(places: readonly Place[]): string {
  const paths = places.map(({ path }) => path).filter(path => path !== '')
  const when = (path: string): string => `complete -c chronos -n ${quoted(`test (__chronos_at) = "${path}"`)}`
  const tells = (text: string): string => (text === '' ? '' : ` -d ${quoted(text)}`)
  const lines = places.flatMap(({ path, commands, options }) => [
    ...commands.map(({ name, tells: words }) => `${when(path)} -f -a ${quoted(name)}${tells(words)}`),
    ...options.map(({ name, tells: words, takesValue, values }) => {
      const value = values.length > 0 ? ` -x -a ${quoted(values.join(' '))}` : takesValue ? ' -r' : ''
      return `${when(path)} -l ${name.replace(/^--?/, '')}${value}${tells(words)}`
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
