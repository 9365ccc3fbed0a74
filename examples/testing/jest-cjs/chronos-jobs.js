module.exports = globalThis.chronosJobs
