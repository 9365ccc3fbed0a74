import { ENGINE_BUGS } from './bugs/engine.js'
import { FEATURE_BUGS } from './bugs/features.js'
import { LIMIT_BUGS } from './bugs/limits.js'
import { POSTGRES_BUGS } from './bugs/postgres.js'
import { RULE_BUGS } from './bugs/rules.js'
import { SERVER_BUGS } from './bugs/server.js'
import { STORE_BUGS } from './bugs/store.js'
import { TABLE_BUGS } from './bugs/tables.js'
import type { Mutant } from './mutant.js'

export const MUTANTS: readonly Mutant[] = [
  ...STORE_BUGS,
  ...RULE_BUGS,
  ...ENGINE_BUGS,
  ...FEATURE_BUGS,
  ...LIMIT_BUGS,
  ...SERVER_BUGS,
  ...POSTGRES_BUGS,
  ...TABLE_BUGS,
]
