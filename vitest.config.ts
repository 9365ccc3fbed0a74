import { existsSync } from 'node:fs'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Files that take long, the longest first. Begun first, none of them is left for one worker while the other has nothing
 * to do. Those that start processes of their own stand apart, so that they meet as few of each other as can be.
 */
const LONG = [
  'mutants/mutants',
  'simulation/simulation',
  'server/http/fuzz',
  'browser/screens',
  'engine/http/http-many',
  'chaos/slices',
  'engine/dependencies/circuit',
  'cli/service/serve',
  'store/postgres',
  'browser/actions',
  'store/postgres/engine/engine',
  'chaos/workers/poison',
  'store/sqlite',
  'server/routes/pull-worker',
  'store/toy',
  'examples',
  'server/events',
  'cli/commands/demo',
  'model/commands',
].map(name => `/test/${name}.test.ts`)

const gone = LONG.filter(path => !existsSync(new URL(`.${path}`, import.meta.url)))
if (gone.length > 0) throw new Error(`vitest.config.ts: LONG names ${gone.join(', ')}, which do not exist; correct it`)

class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId }: TestSpecification): number => {
      const at = LONG.findIndex(name => moduleId.endsWith(name))
      return at < 0 ? LONG.length : at
    }
    return (await super.sort(files)).sort((a, b) => place(a) - place(b))
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
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
