import { ChronosError } from '../../../core/values/error.js'
import { openStore } from '../../backend/direct.js'
import { type Schema, schemaOf } from '../../backend/schema.js'
import { storeAddress } from '../../backend/store-address.js'
import { type Io, unlessInterrupted } from '../../io.js'
import { paint, type Style } from '../../output/print.js'
import { show } from '../../output/show.js'

import { oneLine } from '../../output/width.js'
import type { MigrateOptions } from './command.js'

export async function migrateStore(options: MigrateOptions, io: Io): Promise<void> {
  const store = await openStore(await storeAddress(options, io, 'migrate'))
  try {
    const { from, to } = await unlessInterrupted(store.migrate(), io.interrupted)
    const { engine, location } = await store.info()
    show(io, options, { from, to, location, engine }, style => {
      const place = `${oneLine(location)} ${paint(`(${engine})`, 'dim', style)}`
      if (from === to) return `${place}: schema ${to}, nothing to do\n`
      return `${place}: ${from === 0 ? `made, with schema ${to}` : `migrated from schema ${from} to ${to}`}\n`
    })
  } finally {
    await store.close()
  }
}

/** Whether nothing is to be done. */
export async function showStatus(options: MigrateOptions, io: Io): Promise<boolean> {
  const schema = await unlessInterrupted(schemaOf(await storeAddress(options, io, 'migrate')), io.interrupted)
  const needed = schema.version < schema.known
  show(io, options, { ...schema, needed }, style => statusLine(schema, style))
  if (schema.version > schema.known) throw newer(schema)
  return !needed
}

function statusLine({ location, version, known }: Schema, style: Style): string {
  const place = oneLine(location)
  if (version === 0) return `${place}: ${paint('no tables yet', 'warn', style)}; \`chronos migrate\` makes them\n`
  if (version === known) return `${place}: schema ${version}, ${paint('up to date', 'good', style)}\n`
  if (version > known) return `${place}: schema ${version}, ${paint('newer than this chronos', 'bad', style)}\n`
  const words = paint(`this chronos needs ${known}`, 'warn', style)
  return `${place}: schema ${version}, ${words}; \`chronos migrate\` brings it up to date\n`
}

function newer({ location, version, known }: Schema): ChronosError {
  return new ChronosError(
    'STORE_NEWER',
    `${location} was migrated by a newer Chronos (schema ${version}, this one knows ${known}); update chronos-jobs here`,
    { details: { location, version, known } },
  )
}
