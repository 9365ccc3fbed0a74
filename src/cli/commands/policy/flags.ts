import type { Command } from 'commander'
import { FLAT_FIELDS, flagName, STRATEGIES, strategy } from '../../../core/policy/flat.js'
import { read, type Schema } from '../../../core/values/schema.js'

/** Adds a flag for each field of a policy; the schema of the field describes and parses it. */
export function addPolicyFlags(command: Command): Command {
  command
    .option('--file <path>', 'read the policy from a JSON file')
    .option('--strategy <name>', STRATEGIES.join(', '), reader('--strategy', strategy))
  for (const { schema } of FLAT_FIELDS) {
    const { flag = '', description = '' } = schema.about
    command.option(flag, description, reader(flagName(flag), schema))
  }
  return command
}

export function reader(flag: string, schema: Schema): (text: string) => unknown {
  return text => read(schema, schema.fromText?.(text) ?? text, flag)
}
