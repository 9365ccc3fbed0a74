import type { Command } from 'commander'
import { addConfigOption, COMMON_GROUP } from '../backend/store-address.js'
import { addSettingFlags } from '../config/settings.js'

export function addWorkerOptions(command: Command): Command {
  return addSettingFlags(command, 'jobs', 'queues', 'concurrency', 'build')
}

/** The common options of long-running commands. */
export function addServiceOptions(command: Command): Command {
  addConfigOption(addSettingFlags(command.optionsGroup(COMMON_GROUP), 'store'))
  return addSettingFlags(command, 'logLevel', 'logFormat')
}
