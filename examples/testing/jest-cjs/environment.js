const { TestEnvironment } = require('jest-environment-node')

/** Loads the ES modules of chronos-jobs with Node's own `require`, outside the modules of Jest. */
module.exports = class extends TestEnvironment {
  constructor(...given) {
    super(...given)
    this.global.chronosJobs = require('chronos-jobs')
    this.global.chronosJobsTesting = require('chronos-jobs/testing')
  }
}
