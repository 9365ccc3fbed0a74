import { Argument } from 'commander'
import type { CommandSpec } from '../../command.js'

const SHELLS = ['bash', 'zsh', 'fish'] as const

export type Shell = (typeof SHELLS)[number]

export const completion: CommandSpec = {
  name: 'completion',
  summary: 'print a completion script for your shell',
  arguments: [new Argument('<shell>', SHELLS.join(', ')).choices(SHELLS)],
  common: 'none',
  examples: `
source <(chronos completion bash)                     for this shell
chronos completion bash >> ~/.bashrc                  for every new shell
chronos completion zsh > "\${fpath[1]}/_chronos"
chronos completion fish > ~/.config/fish/completions/chronos.fish`,
  run: async () => (await import('./scripts.js')).printScript,
}
