// A process of a scenario ends with its parent, however that ended.
process.once('disconnect', () => process.exit(0))
