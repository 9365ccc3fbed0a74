module.exports = {
  testEnvironment: './environment.js',
  moduleNameMapper: {
    '^chronos-jobs$': '<rootDir>/chronos-jobs.js',
    '^chronos-jobs/testing$': '<rootDir>/chronos-jobs-testing.js',
  },
}
