import { Graph } from './graph.js'

// A process that tries mutants, one after the other, as its parent sends them: it answers which seed or which check
// caught each of them, or that none did.

/**
 * @typedef {object} Task
 * @property {import('./graph.js').Bug} [bug] absent: the original code
 * @property {string} [killer] `file#export` in `killers/`
 * @property {readonly number[]} [seeds] in this order, until one breaks a promise
 */

/** @param {Task} task */
async function attempt({ bug, killer, seeds }) {
  const graph = await Graph.with(bug)
  if (killer !== undefined) return kill(graph, killer)
  const { simulate } = await graph.load('test/simulation/simulate.ts')
  const caught = []
  let lived = 0
  for (const seed of seeds ?? []) {
    const { violations } = await simulate(seed)
    lived++
    if (violations.length === 0) continue
    caught.push({ by: `seed ${seed}`, what: violations[0].promise })
    if (bug) break
  }
  return { lived, caught }
}

/**
 * @param {Graph} graph
 * @param {string} killer
 */
async function kill(graph, killer) {
  const [name, check = ''] = killer.split('#')
  const checks = await graph.load(`test/mutants/killers/${name}.ts`)
  try {
    await checks[check]()
    return { lived: 1, caught: [] }
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error)
    return { lived: 1, caught: [{ by: killer, what: what.split('\n')[0] }] }
  }
}

process.on('message', async task => {
  try {
    process.send?.({ verdict: await attempt(/** @type {Task} */ (task)) })
  } catch (error) {
    process.send?.({ error: error instanceof Error ? error.stack : String(error) })
  }
})
