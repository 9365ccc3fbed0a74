import { type AddHelpTextContext, type AddHelpTextPosition, Command } from 'commander'

/** A command whose help shows examples before options. */
export class Program extends Command {
  #examples = ''

  override createCommand(name?: string): Program {
    return new Program(name)
  }

  override addHelpText(position: AddHelpTextPosition, text: string | ((context: AddHelpTextContext) => string)): this {
    if (position !== 'after' || typeof text !== 'string') return super.addHelpText(position, text as string)
    this.#examples = text.trim()
    return this
  }

  /** Examples come after the usage and the description. */
  override helpInformation(...context: Parameters<Command['helpInformation']>): string {
    const [usage = '', description = '', ...rest] = super.helpInformation(...context).split('\n\n')
    return [usage, description, ...(this.#examples === '' ? [] : [this.#examples]), ...rest].join('\n\n')
  }
}
