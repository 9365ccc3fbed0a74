module.exports = globalThis.chronosJobsTesting
