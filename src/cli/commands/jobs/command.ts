import { type Command, Option } from 'commander'
import { collect, wholeNumber } from '../../argument.js'
import { addBackendOptions } from '../../backend/store-address.js'
import type { Io } from '../../io.js'
import { addFilterOptions } from './filter.js'
import { ACTION_WORDS, type ActionWords, JOBS_EXAMPLES, READ_WORDS } from './help.js'

type Exit = (code: number) => void

/** Looking at jobs, and setting them right by hand. */
export function addJobs(program: Command, io: Io, exit: Exit): void {
  const jobs = program
    .command('jobs')
    .summary('look at jobs, and set them right by hand')
    .description('Looks at jobs, and sets them right by hand.')
    .helpCommand('help [command]', 'show the help of a command')
    .addHelpText('after', JOBS_EXAMPLES)
  addReading(jobs, io)
  for (const words of ACTION_WORDS) addAction(jobs, words, io, exit)
  addEdit(jobs, io)
  addReplay(jobs, io, exit)
}

function addReading(jobs: Command, io: Io): void {
  const list = reading(jobs, 'list')
  addFilterOptions(paged(list))
  addBackendOptions(list).action(async options => (await import('./list.js')).listJobs(options, io))

  const get = reading(jobs, 'get').argument('<id>', 'of the job').option('--stack', 'the last error with its stack')
  addBackendOptions(get).action(async (id, options) => (await import('./get.js')).getJob(id, options, io))

  const history = paged(reading(jobs, 'history').argument('<id>', 'of the job'))
  addBackendOptions(history).action(async (id, options) => (await import('./history.js')).showHistory(id, options, io))

  const timeline = reading(jobs, 'timeline')
    .argument('<id>', 'of the job')
    .addOption(new Option('--limit <number>', 'how many of its last runs (default: 20)').argParser(wholeNumber))
  addBackendOptions(timeline).action(async (id, options) =>
    (await import('./timeline.js')).showTimeline(id, options, io),
  )

  const explain = reading(jobs, 'explain').argument('<id>', 'of the job')
  addBackendOptions(explain).action(async (id, options) => (await import('./explain.js')).explainJob(id, options, io))

  const logs = paged(reading(jobs, 'logs').argument('<id>', 'of the job'))
  addBackendOptions(logs).action(async (id, options) => (await import('./history.js')).showLogs(id, options, io))
}

function reading(jobs: Command, name: keyof typeof READ_WORDS): Command {
  const { summary, description, examples } = READ_WORDS[name]
  return jobs.command(name).summary(summary).description(description).addHelpText('after', examples)
}

function paged(command: Command): Command {
  return command
    .addOption(new Option('--limit <number>', 'how many, up to 200 (default: 50)').argParser(wholeNumber))
    .option('--cursor <text>', 'go on where another page ended')
}

function addAction(jobs: Command, words: ActionWords, io: Io, exit: Exit): void {
  const command = jobs
    .command(words.name)
    .summary(words.summary)
    .description(words.description)
    .argument('[ids...]', 'jobs, by their ids')
    .addHelpText('after', words.examples)
  if (words.name === 'reschedule') {
    command
      .option('--delay <duration>', 'so long from now: 30s, 15m, 2h, 7d')
      .option('--run-at <time>', 'at this time: 2026-12-24T18:00Z')
  }
  addFilterOptions(command)
    .option('--all', words.all)
    .option('--dry-run', 'only tell how many there are, and show some')
    .option('--yes', 'do it: without this, nothing is done to jobs that a filter chose')
  addBackendOptions(command).action(async (ids, options) => {
    const { perform } = await import('./action.js')
    exit(await perform(words.name, ids, options, io))
  })
}

function addReplay(jobs: Command, io: Io, exit: Exit): void {
  const replay = reading(jobs, 'replay').argument('<id>', 'of the job')
  addBackendOptions(replay).action(async (id, options) => {
    const { replayJob } = await import('../enqueue/run.js')
    exit(await replayJob(id, options, io))
  })
}

function addEdit(jobs: Command, io: Io): void {
  const edit = reading(jobs, 'edit')
    .argument('<id>', 'of the job')
    .option('--payload <json>', 'JSON, @FILE, or - for stdin')
    .option('--queue <name>', 'another queue')
    .addOption(new Option('--priority <number>', '0 to 9, 9 first').argParser(wholeNumber))
    .option('--tag <tag>', 'these tags and no others; several times', collect)
    .option('--delay <duration>', 'run it so long from now: 30s, 15m, 2h, 7d')
    .option('--run-at <time>', 'run it at this time: 2026-12-24T18:00Z')
    .option('--timeout <duration>', 'per attempt')
    .option('--deadline <time>', 'not started after this time, or this long from now')
    .option('--retry <policy>', "a preset's name, or a policy as JSON")
    .option('--if-version <version>', 'only if it is still as it was read (the ETag of the API)')
  addBackendOptions(edit).action(async (id, options) => (await import('./edit.js')).editJob(id, options, io))
}
