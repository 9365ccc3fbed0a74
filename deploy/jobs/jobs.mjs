// Put your jobs here. This folder is mounted at /app/jobs in the containers, where `chronos-jobs` can be imported.
import { defineJob } from 'chronos-jobs'

export const greet = defineJob({
  name: 'greet',
  async run({ name = 'world' }, job) {
    job.log(`hello, ${name}`)
    return { greeted: name }
  },
})
