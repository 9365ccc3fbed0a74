import { type Backend, withBackend } from './backend/backend.js'
import type { Need } from './backend/direct.js'
import type { BackendOptions } from './backend/store-address.js'
import type { Io } from './io.js'
import { type Style, styleOf } from './output/print.js'
import { show } from './output/show.js'

export interface Words<T> {
  /** On stdout: a line, or only the id or secret for `$(…)`. It may load its code when it is needed. */
  readonly text: (value: T, style: Style, backend: Backend) => string | Promise<string>
  /** On stderr. */
  readonly note?: (value: T) => string
  /** `any` for an operation that may be the first one on a new store. */
  readonly need?: Need
}

/** A command that does one thing and shows the result, as JSON or as text. */
export async function act<T>(
  options: BackendOptions,
  io: Io,
  operation: (backend: Backend) => Promise<T>,
  { text, note, need }: Words<T>,
): Promise<void> {
  await withBackend(
    options,
    io,
    async backend => {
      const value = await operation(backend)
      const line = options.json ? '' : await text(value, styleOf(io.stdout, io.env), backend)
      show(io, options, value, () => `${line}\n`)
      if (note && !options.json) io.stderr.write(`${note(value)}\n`)
    },
    need,
  )
}
