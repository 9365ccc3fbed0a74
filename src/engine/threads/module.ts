import { inCode } from '../../core/values/schema.js'

/** Any other URL would let a job run code from the network. */
function isModule(given: unknown): boolean {
  if (!(given instanceof URL) && typeof given !== 'string') return false
  return URL.canParse(String(given)) && new URL(given).protocol === 'file:'
}

/** The module of a handler. A path has no meaning of its own: it depends on the folder that a process was started in. */
export const threadModule = inCode<URL | string>(
  'the file URL of a module: new URL("./resize.js", import.meta.url)',
  isModule,
)
