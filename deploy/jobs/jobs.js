// Where your jobs go. Mounted at /app/jobs in the containers, it finds the library by its name.
import { defineJob } from 'chronos-jobs'

export const greet = defineJob({
  name: 'greet',
  async run({ name = 'world' }, job) {
    job.log(`hello, ${name}`)
    return { greeted: name }
  },
})
