import { describe, expect, it } from 'vitest'
import { proseOf } from './support/prose.js'
import { lineAt, readFiles, type Tree } from './support/tree.js'

/** A word or phrase that must not be used, and what to write instead. */
interface Rule {
  readonly not: RegExp
  readonly but: string
  /** Paths (of files, or of folders with a slash at the end) that may use it, each with its reason. */
  readonly except?: Readonly<Record<string, string>>
  /** Each must be found: a rule that can't fail keeps nothing out. */
  readonly breaks: readonly string[]
  readonly keeps: readonly string[]
}

/** A word by itself: neither part of an identifier nor of a name with hyphens, such as a CSS class. */
const word = (pattern: string): RegExp =>
  new RegExp(`(?<![\\w$-])(?:${pattern.replaceAll(' ', '\\s+')})(?![\\w$-]|\\.\\w)`, 'gi')

const RULES: readonly Rule[] = [
  {
    not: word('gate[ds]?'),
    but: 'dependency, or circuit',
    except: {
      'src/store/postgres/migrations.ts': 'the column had this name in earlier versions',
      'src/store/sqlite/migrations.ts': 'the column had this name in earlier versions',
    },
    breaks: ['waits at the gate', 'Gates and budgets', 'jobs that are gated'],
    keeps: ['a flaky gateway', 'jobs_gate'],
  },
  {
    not: word(
      `targets? (?:is|are|was|were|comes?|serves?|answers?|fails?|that|turns)|whose targets?|targets, (?:alerts|webhooks)`,
    ),
    but: 'dependency',
    breaks: ['while the target is down', 'a job whose target fails twice', 'webhooks, targets, alerts'],
    keeps: ['the target for memory', 'event.target', 'Wants=network-online.target'],
  },
  {
    not: word('journal(?:s|ed)?(?! mode)'),
    but: 'audit log',
    breaks: ['written into the journal', 'journaled'],
    keeps: ['PRAGMA journal_mode', 'the journal mode of SQLite'],
  },
  {
    not: word(String.raw`chronos audit|chronos\.audit\(\)|audits|audited|(?:the|an) audit(?! (?:log|trail|entry))`),
    but: 'integrity check, or chronos verify',
    breaks: ['run `chronos audit`', 'the audit proves it', '(await chronos.audit()).isSound', 'audits the copy'],
    keeps: ['the audit log', 'an audit entry', 'GET /audit', 'audit-log'],
  },
  {
    not: word('signs? of life|(?<!heart)beats?'),
    but: 'heartbeat',
    breaks: ['gives signs of life', 'a sign\n of life', 'the last beat'],
    keeps: ['the last heartbeat'],
  },
  {
    // The function of the package is named so.
    not: word('(?<!\\{ )tick(?:s|ed|ing)?(?![(`])'),
    but: 'occurrence',
    except: {
      'src/engine/client/ticker.ts': 'errors begin with the name of the function',
      'src/serverless.ts': 'errors begin with the name of the function',
      'test/serverless/': 'tests of that function',
      'test/mutants/bugs/features.ts': 'it quotes code',
    },
    breaks: ['each tick makes one job', 'Ticks that no scheduler saw', 'a schedule that ticked'],
    keeps: [
      'nextTick',
      'axis-tick',
      'import { tick } from',
      'tick(chronos, jobs)',
      '`tick`',
      'chronos_schedule_ticks_total',
      '42 tickets',
    ],
  },
  {
    not: word('lanes?'),
    but: 'the limit per endpoint',
    except: {
      'bench/': 'a lane of the benchmark is one series of samples',
      'src/core/values/hash.ts': 'a lane of a hash is a part of its state',
      'src/store/': 'the lane of a job is the partition in which it waits for its turn',
      'docs/decisions/0031-limits.md': 'it explains the lanes of the stores',
      'docs/requirements.md': 'it names the folders of tests',
      'test/store/': 'as in src/store/',
      'test/model/': 'as in src/store/',
      'test/simulation/': 'as in src/store/',
      'test/mutants/': 'as in src/store/',
    },
    breaks: ['deliveries have a lane of their own'],
    keeps: ['planes'],
  },
  {
    not: word('webhook subscriptions?|subscriptions?'),
    but: 'webhook endpoint',
    breaks: ['A subscription hears', 'webhook subscriptions'],
    keeps: ['subscribed'],
  },
  {
    not: word('puts? off|putting off|park(?:s|ed|ing)'),
    but: 'defer, snooze or release',
    breaks: ['retries that were put off', 'parked jobs', 'put\noff'],
    keeps: ['deferred', 'sparks', 'put. Official'],
  },
  {
    not: word('what(?:ever)? (?:became|becomes|has become|have become) of|fates?'),
    but: 'outcome',
    breaks: ['What became of them', 'whatever becomes of it', 'eight jobs with eight fates'],
    keeps: ['what it becomes'],
  },
  {
    not: word('by hand'),
    but: 'manually, or who does it: an operator',
    breaks: ['cancelled by hand', 'By hand'],
    keeps: ['by handlers', 'at hand'],
  },
  {
    not: word('nobody|somebody|everybody|anybody|whoever|whomever'),
    but: 'the noun: a worker, the caller, an operator, another process',
    except: { 'test/support/postgres-server.ts': 'the system user has this name' },
    breaks: ['nobody knows', 'Somebody cancelled it', 'whoever comes back'],
    keeps: ['no body', 'an operator'],
  },
  {
    not: word('(?:tells?|telling|told|hears?|heard|hearing) of'),
    but: 'report, notify or document',
    breaks: ['one delta tells of it', 'is told of', 'Workers hear of a new endpoint'],
    keeps: ['tells often', 'told about'],
  },
  {
    not: word('(?<!thundering )herds?(?! simulat| effect)'),
    but: 'thundering herd, or failing jobs',
    breaks: ['sends a herd through an outage', 'what the herd does'],
    keeps: ['a thundering herd', 'shepherd', 'the herd simulator'],
  },
  {
    not: word('mend(?:s|ed|ing)?|set (?:it|them|things) right'),
    but: 'fix',
    breaks: ['mend the cause', 'how to set it right', 'a mended bug'],
    keeps: ['amend', 'recommended'],
  },
  {
    not: word('(?:sent|sends?|sending|goes|go|went) (?:\\S+ ){0,3}round again'),
    but: 'redrive',
    breaks: ['sends dead jobs round again', 'sent round again'],
    keeps: ['the next round'],
  },
  {
    not: word('(?:dependency|circuit)(?: that)? (?:is|was) shut|shut (?:dependency|circuit)s?'),
    but: 'open circuit',
    breaks: ['behind a shut dependency', 'while the circuit is shut'],
    keeps: ['shut down', 'the circuit is open'],
  },
  {
    not: word('doors?'),
    but: 'entry point, or way',
    breaks: ['One door out of running', 'the doors of the package'],
    keeps: ['indoors', 'backdoor'],
  },
  {
    not: word('all of it|what(?:ever)? is there'),
    but: 'the noun: the whole record, the jobs that exist',
    breaks: ['its job tells all of it', 'counts what is there'],
    keeps: ['all of its jobs', 'what is therefore'],
  },
  {
    not: /(?<![\w$-])Of\s+[a-z]/g,
    but: 'a sentence with a subject and a verb',
    breaks: ['Of one queue they come as they are.', '// Of many, one succeeds.', '## Of this process'],
    keeps: ['One of the workers', 'OffscreenCanvas'],
  },
]

/** The samples of the rules are the words themselves. */
const SAMPLES = 'test/english.test.ts'

const PAGES = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md']
const READ_BY_PEOPLE = /(?<!package-lock)\.(?:[jt]sx?|mjs|css|html|md|json|ya?ml|py|service)$|Dockerfile$/
const repository = prose(
  readFiles(READ_BY_PEOPLE, [...PAGES, 'package.json', 'docs', 'deploy', 'build', 'bench', 'examples', 'src', 'test']),
)

function prose(tree: Tree): Tree {
  return Object.fromEntries(
    Object.entries(tree)
      .filter(([path]) => path !== SAMPLES)
      .map(([path, text]) => [path, proseOf(path, text)]),
  )
}

interface Finding {
  readonly path: string
  readonly line: number
  readonly what: string
}

function find({ not, but }: Rule, tree: Tree): Finding[] {
  return Object.entries(tree).flatMap(([path, text]) =>
    [...text.matchAll(not)].map(match => ({
      path,
      line: lineAt(text, match.index),
      what: `"${match[0].replace(/\s+/g, ' ')}": write ${but}`,
    })),
  )
}

const isIn = (path: string, areas: readonly string[]): boolean =>
  areas.some(area => (area.endsWith('/') ? path.startsWith(area) : path === area))

describe('plain English', () => {
  it('is looked for where people read', () => {
    const paths = [
      'README.md',
      'docs/retries.md',
      'src/cli/main.ts',
      'src/dashboard/shell/shell.tsx',
      'deploy/Dockerfile',
    ]
    expect(Object.keys(repository)).toEqual(expect.arrayContaining(paths))
  })

  for (const rule of RULES) {
    describe(`"${rule.breaks[0]}" says ${rule.but}`, () => {
      it('everywhere', () => {
        const found = find(rule, repository).filter(({ path }) => !isIn(path, Object.keys(rule.except ?? {})))
        expect(found.map(({ path, line, what }) => `${path}:${line} ${what}`)).toEqual([])
      })

      it('can fail', () => {
        for (const text of rule.breaks) expect(find(rule, { 'a.md': text }), text).not.toEqual([])
      })

      it('can be kept', () => {
        for (const text of rule.keeps) expect(find(rule, { 'a.md': text }), text).toEqual([])
      })

      it('needs each of its exceptions', () => {
        const paths = find(rule, repository).map(({ path }) => path)
        const spare = Object.keys(rule.except ?? {}).filter(area => !paths.some(path => isIn(path, [area])))
        expect(spare, 'Take them off the list: they keep the rule now, or are gone.').toEqual([])
      })
    })
  }
})

describe('the reader of prose', () => {
  it.each([
    ['a.ts', "const gate = 'b' // c\n", 'b c'],
    ['a.ts', "import { a } from './gate.js'\n", ''],
    ['a.ts', '/** a\n * b */ c()', 'a b'],
    ['a.ts', 'const a = `b $' + '{c} d` as const', 'b d'],
    ['a.ts', 'const a: "b" = /c/.exec(d)', 'b'],
    ['a.tsx', 'const a = <p title="b">it\'s {c} d</p>', "b it's d"],
    ['a.md', '# gate `a`', '# gate `a`'],
  ])('finds the words in %s: %j', (path, text, expected) => {
    const words = (from: string): readonly string[] => from.split(/[\s\0]+/).filter(each => each !== '')
    expect(words(proseOf(path, text))).toEqual(words(expected))
    expect(proseOf(path, text)).toHaveLength(text.length)
  })
})
