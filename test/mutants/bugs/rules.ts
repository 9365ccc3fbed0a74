import type { Mutant } from '../mutant.js'

const JOB = 'src/core/job/job.ts'
const LIFECYCLE = 'src/core/job/lifecycle.ts'

/** Bugs of the rules. */
export const RULE_BUGS: readonly Mutant[] = [
  {
    name: 'a lost job past its last attempt',
    from: 52,
    file: LIFECYCLE,
    find: '    return afterFailure(ended, { ...failure, words }, change)\n  }\n  const change = { losses',
    replace: "    return wait(ended, 0, words, change, failure, 'retry')\n  }\n  const change = { losses",
  },
  {
    name: 'a lost at-most-once job runs again',
    from: 134,
    file: LIFECYCLE,
    find: "return ended.job.begun ? unknownOutcome(ended, 'its worker was lost') : neverRan",
    replace: "return ended.job.begun ? neverRan(ended, 'its worker was lost') : neverRan",
  },
  {
    name: 'a forgiven crash costs every job an attempt',
    from: 52,
    file: LIFECYCLE,
    find: '  if (alone) {\n',
    replace: '  if (alone || job.losses < 100) {\n',
  },
  {
    name: 'a snooze costs an attempt',
    from: 52,
    file: LIFECYCLE,
    find: 'const change = { attemptBack: true, snoozes: ended.job.snoozes + 1 }',
    replace: 'const change = { attemptBack: false, snoozes: ended.job.snoozes + 1 }',
  },
  {
    name: 'a lost run that does not count',
    from: 52,
    file: LIFECYCLE,
    find: "  if (job.policy.crashes !== 'forgive') {\n    return afterFailure",
    replace: "  if (job.policy.crashes === 'count') {\n    return afterFailure",
  },
  {
    name: 'a retry whose latency counts from a run that never started',
    from: 4,
    file: LIFECYCLE,
    find: 'change.hasRun === false ? job.failedAt : FAILED.has(status)',
    replace: 'FAILED.has(status)',
  },
  {
    name: 'a last attempt that is charged although it never began',
    from: 3,
    file: LIFECYCLE,
    find: '(!job.begun && needsBegin(job, job.policy))\n',
    replace: '(!job.begun && job.suspect)\n',
  },
  {
    name: 'a job without retries is started again after a deploy',
    from: 163,
    file: LIFECYCLE,
    find: "if (maxRetries === 0 && crashes !== 'forgive') {",
    replace: "if (maxRetries < 0 && crashes !== 'forgive') {",
  },
  {
    name: 'a last attempt started without begin',
    from: 3,
    file: JOB,
    find: "return job.delivery === 'at-most-once' || job.suspect || isLastPermitted(job, policy)",
    replace:
      "return job.delivery === 'at-most-once' || job.suspect || (job.attempt < 0 && isLastPermitted(job, policy))",
  },
]
