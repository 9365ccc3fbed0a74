// What a store of your own needs: the interface, the rules and the parts that every store shares.

export {
  acknowledge,
  cancel,
  discard,
  edit,
  expire,
  FRESH,
  type JobChange,
  type JobEdit,
  type RedriveOptions,
  redrive,
  reschedule,
} from './core/job/changes.js'
export type { Job, JobState, StoredError } from './core/job/job.js'
export { type RunTime, timeOf } from './core/job/run-time.js'
export { type Newest, type Replacement, type Throttle, takeNewest } from './core/job/unique.js'
export type { Clock, Dice, Timer } from './core/values/clock.js'
export { ChronosError } from './core/values/error.js'
export { systemClock, systemDice } from './engine/time/system.js'
export { type ChangePlan, type Locked, planChanges } from './store/change.js'
export { byBytes, fromTags, fromText, tagLine, toTags, toText } from './store/columns.js'
export { type CursorKind, cursorOf, cut, readCursor, writeCursor } from './store/cursor.js'
export { type Delta, DeltaDraft } from './store/delta.js'
export { foldInto, keysOf, LEDGER } from './store/fold.js'
export { AUDIT_FINDINGS_MAX, AuditDraft, type AuditSnapshot } from './store/integrity.js'
export {
  changedColumns,
  GIVEN_COLUMNS,
  givenValue,
  HELD_COLUMNS,
  type JobWrite,
  readOptional,
  UNHELD_COLUMNS,
} from './store/job-columns.js'
export { MemoryTables, type SavedTables } from './store/memory/tables.js'
export { type MemoryStoreOptions, memoryStore } from './store/memory.js'
export { addLine, censusDraft, censusOf, countOf, lineCap } from './store/reads/census.js'
export { errorHas, folded, HTTP_JOB, jobHas, mayBeOfId, withinJson } from './store/reads/text-search.js'
export { WaitingDraft, waitingLine } from './store/reads/waiting.js'
export type { Put, RecordQuery, RecordWrite, StoredRecord } from './store/record.js'
export { beginsWithClaim, NAMED_DUE_MAX, policyIdOf, processOf, settledAs, spawnedBy } from './store/run.js'
export { isLive, keyOf, REPLACED_SCOPE, throttleScope } from './store/scope.js'
export type * from './store/store.js'
export { BACKLOG_DUE_MAX, LOG_LINES_DROPPED, LOG_LINES_MAX, REMOVED_KEY_MS, REPLACED_ID_MS } from './store/store.js'
