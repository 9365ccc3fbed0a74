import { Argument, type Command } from 'commander'
import type { Io } from '../../io.js'

const EXAMPLES = `
Examples:
  $ source <(chronos completion bash)                     this shell
  $ chronos completion bash >> ~/.bashrc                  every shell to come
  $ chronos completion zsh > "\${fpath[1]}/_chronos"
  $ chronos completion fish > ~/.config/fish/completions/chronos.fish`

const SHELLS = ['bash', 'zsh', 'fish'] as const

/** A script that makes a shell know the commands and options that this program has. */
export function addCompletion(program: Command, io: Io): void {
  program
    .command('completion')
    .summary('print a script that completes commands in your shell')
    .description('Prints a script that completes commands, options and their values in your shell.')
    .addArgument(new Argument('<shell>', SHELLS.join(', ')).choices(SHELLS))
    .addHelpText('after', EXAMPLES)
    .action(async (shell: (typeof SHELLS)[number]) => {
      const { SCRIPTS, vocabulary } = await import('./scripts.js')
      io.stdout.write(SCRIPTS[shell](vocabulary(program)))
    })
}
