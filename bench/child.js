/** One task of one subject in this process: `node child.js SUBJECT TASK OPTIONS`; the answer goes to the parent. */
const [subject, task, options] = process.argv.slice(2)
if (subject === undefined || task === undefined || options === undefined) {
  throw new Error('expected a subject, a task and options as JSON; run bench/run.js instead')
}
const tasks = await import(`./subjects/${subject}.js`)
if (typeof tasks[task] !== 'function') throw new Error(`${subject} has no task ${task}`)
const result = await tasks[task](JSON.parse(options))
process.send?.(result ?? {}, undefined, undefined, () => process.disconnect())
