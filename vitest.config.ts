import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * Short files that take long. Begun first, none of them is left for one worker while the other has nothing to do. Those
 * that start processes of their own stand apart, so that they meet as few of each other as can be.
 */
const LONG = [
  'simulation/simulation',
  'store/postgres',
  'store/sqlite',
  'server/fuzz',
  'chaos/kill',
  'cli/commands/demo',
  'cli/service/serve',
  'mutants/mutants',
  'browser/screens',
  'model/commands',
  'engine/http/http-many',
  'chaos/poison',
  'browser/actions',
  'examples',
].map(name => `/test/${name}.test.ts`)

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
    maxWorkers: 2,
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
