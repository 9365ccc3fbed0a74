import type { Command } from 'commander'
import { FLAT_FIELDS, flagName, STRATEGIES, strategy } from '../../../core/policy/flat.js'
import { read, type Schema } from '../../../core/values/schema.js'

/** Every setting of a policy that has a flag, with the words and the reading of its schema. */
export function withPolicyFlags(command: Command): Command {
  command
    .argument('[policy]', "a preset's name or JSON (default: standard)")
    .option('--file <path>', 'the policy as JSON in a file')
    .option('--strategy <name>', STRATEGIES.join(', '), reader('--strategy', strategy))
  for (const { schema } of FLAT_FIELDS) {
    const { flag = '', description = '' } = schema.about
    command.option(flag, description, reader(flagName(flag), schema))
  }
  return command
}

function reader(flag: string, schema: Schema): (text: string) => unknown {
  return text => read(schema, schema.fromText?.(text) ?? text, flag)
}
