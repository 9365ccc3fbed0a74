import { existsSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Files and folders that take long, the longest first. Begun first, none of them is left for one worker while the other
 * has nothing to do. Those that start processes of their own stand apart, so that they meet as few of each other as can
 * be.
 */
const LONG = [
  'simulation/simulation.test.ts',
  'mutants/mutants.test.ts',
  'browser/screens.test.ts',
  'browser/actions.test.ts',
  'browser/',
  'chaos/slices.test.ts',
  'server/http/fuzz.test.ts',
  'package/package.test.ts',
  'examples.test.ts',
  'chaos/workers/poison.test.ts',
  'store/postgres.test.ts',
  'engine/http/http-many.test.ts',
  'engine/dependencies/circuit.test.ts',
  'cli/service/serve.test.ts',
  'model/commands.test.ts',
  'engine/webhooks/deliveries.test.ts',
  'server/metrics/metrics.test.ts',
  'store/sqlite.test.ts',
  'package/recipes.test.ts',
  'cli/commands/demo.test.ts',
  'engine/schedules/',
  'cli/commands/migrate.test.ts',
  'store/postgres/engine/engine.test.ts',
  'server/routes/pull-worker.test.ts',
  'store/toy.test.ts',
  'server/events.test.ts',
].map(name => `/test/${name}`)

const gone = LONG.filter(path => !existsSync(new URL(`.${path}`, import.meta.url)))
if (gone.length > 0) throw new Error(`vitest.config.ts: LONG names ${gone.join(', ')}, which do not exist; correct it`)

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = LONG.findIndex(name => moduleId.includes(name))
      return at < 0 ? LONG.length : at
    }
    return (await super.sort(files)).sort((a, b) => place(a) - place(b))
  }
}

const BROWSER = 'test/browser/**/*.test.ts'

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'node',
          include: ['test/**/*.test.ts'],
          exclude: [BROWSER],
          setupFiles: ['test/support/untracked.ts'],
        },
      },
      // The browser's driver makes Node track every promise of its process from then on, which doubles the cost of tests
      // that have no browser: these run in other processes.
      { extends: true, test: { name: 'browser', include: [BROWSER] } },
    ],
    globalSetup: ['test/support/postgres-setup.ts'],
    pool: 'forks',
    maxWorkers: 3,
    sequence: { sequencer: LongFirst },
    // Files share what they import; none of them changes it.
    isolate: false,
    // Only what hangs takes that long, on any machine.
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // A test whose expectations never run fails.
    expect: { requireAssertions: true, poll: { timeout: 120_000 } },
  },
})
