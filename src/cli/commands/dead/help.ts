interface Words {
  readonly summary: string
  readonly description: string
  readonly examples: string
}

export const DEAD_EXAMPLES = `
Examples:
  $ chronos dead groups                      what jobs died of
  $ chronos dead group FINGERPRINT           one of them, with some of its jobs
  $ chronos dead redrive --group FINGERPRINT --dry-run
  $ chronos dead redrive --group FINGERPRINT --rate 20/s --canary 10 --yes
  $ chronos dead resolve FINGERPRINT         mended; seen again, it tells you`

export const DEAD_WORDS = {
  list: {
    summary: 'list dead jobs, newest first',
    description: 'Lists the jobs that ended without success, newest first, with what they died of.',
    examples: `
Examples:
  $ chronos dead list --queue payments
  $ chronos dead list --group FINGERPRINT --limit 10
  $ chronos dead list --no-acknowledged --json | jq -r '.data[].id'`,
  },
  groups: {
    summary: 'show what jobs died of: equal errors as one',
    description:
      'Shows what jobs died of. Equal errors are one group: how many dead jobs it has now, its failed runs over the ' +
      'last 24 hours, when it was seen first and last, and the jobs that it was seen in.',
    examples: `
Examples:
  $ chronos dead groups
  $ chronos dead groups --all                resolved and ignored ones too
  $ chronos dead groups --state regressed    mended, and back again
  $ chronos dead groups --json | jq -r '.data[0].fingerprint'`,
  },
  group: {
    summary: 'show one error group with its newest jobs',
    description: 'Shows one error group: its counts, its last 48 hours, and the newest jobs that it was seen in.',
    examples: `
Examples:
  $ chronos dead group FINGERPRINT
  $ chronos dead group FINGERPRINT --json | jq .samples`,
  },
  redrive: {
    summary: 'send dead jobs round again, a few first, then at a rate',
    description:
      'Sends dead jobs round again, each with all its attempts and the same id, key and history. A few go first, as a ' +
      'canary; the others follow at a rate that grows; it stops where too many fail again. Workers carry it out: this ' +
      'command starts it and shows how far it is.',
    examples: `
Examples:
  $ chronos dead redrive --group FINGERPRINT --dry-run
  $ chronos dead redrive --group FINGERPRINT --rate 20/s --canary 10 --yes
  $ chronos dead redrive --queue mail --reason exhausted --rate 600/m --yes
  $ chronos dead redrive ID ID
  $ id=$(chronos dead redrive --all --detach --yes)

Ctrl-C stops the watching, not the redrive: see \`chronos redrives\`.
Exit codes: 0 done, 8 it was stopped by its rule or aborted, 2 --yes is missing.`,
  },
  acknowledge: {
    summary: 'mark dead jobs as seen by a person',
    description: 'Marks dead jobs as seen by a person. They stay, and alarm nobody any more.',
    examples: `
Examples:
  $ chronos dead acknowledge ID
  $ chronos dead acknowledge --queue billing --dry-run
  $ chronos dead acknowledge --queue billing --yes`,
  },
  discard: {
    summary: 'give dead jobs up for good',
    description:
      'Gives dead jobs up for good: their reason becomes discarded, and no redrive takes them. Their records stay; ' +
      '`chronos jobs delete` removes records.',
    examples: `
Examples:
  $ chronos dead discard ID
  $ chronos dead discard --group FINGERPRINT --dry-run
  $ chronos dead discard --group FINGERPRINT --yes`,
  },
  resolve: {
    summary: 'say that the cause of an error group is mended',
    description: 'Says that the cause of an error group is mended. If it is seen again, it comes back as regressed.',
    examples: `
Examples:
  $ chronos dead resolve FINGERPRINT
  $ chronos dead groups --state regressed    what came back`,
  },
  ignore: {
    summary: "say that an error group is known, and nobody's concern",
    description:
      'Says that an error group is known, and nobody has to look at it. `dead groups` shows it with --all only.',
    examples: `
Examples:
  $ chronos dead ignore FINGERPRINT
  $ chronos dead groups --state ignored`,
  },
  reopen: {
    summary: 'put an error group back among the open ones',
    description: 'Puts a resolved or ignored error group back among the open ones.',
    examples: `
Examples:
  $ chronos dead reopen FINGERPRINT`,
  },
} as const satisfies Record<string, Words>
