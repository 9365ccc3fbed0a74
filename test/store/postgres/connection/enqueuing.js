// A process that enqueues a job and then exits.
import { createChronos } from '../../../../dist/index.js'

const [url = '', schema = ''] = process.argv.slice(2)
const chronos = createChronos({ store: `${url}?schema=${schema}`, log: false })
const { id } = await chronos.enqueue('mail', {})
await chronos.close()
process.stdout.write(id)
