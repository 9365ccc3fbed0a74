import * as vitest from 'vitest'
import { memoryStore } from '../../src/store/memory.js'
import { conformance } from './conformance/index.js'

conformance(vitest, 'memory', async clock => memoryStore({ clock }))
