import { memoryStore } from '../../src/store/memory.js'
import { conformance } from './conformance/index.js'

conformance('memory', async clock => memoryStore({ clock }))
