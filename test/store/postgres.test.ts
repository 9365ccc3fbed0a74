import { afterAll } from 'vitest'
import { dropSchemas, openStoreAt } from '../support/postgres.js'
import { conformance } from './conformance/index.js'

afterAll(dropSchemas)

conformance('PostgreSQL', clock => openStoreAt(clock))
