import { describe, expect, test } from 'vitest'
import { runScenario } from './scenario.js'
import { SCENARIOS } from './scenarios.js'

// A short slice of each scenario; `npm run chaos` does the full sizes.
describe('chaos', () => {
  test.each(SCENARIOS)('$name: every promise is kept', async scenario => {
    const { violations, missing, notRun } = await runScenario(scenario, scenario.slice)
    if (notRun !== undefined) console.log(`${scenario.name}: not run: ${notRun}`)
    expect({ violations, missing }).toEqual({ violations: [], missing: [] })
  })
})
