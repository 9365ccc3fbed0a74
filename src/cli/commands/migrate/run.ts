import { ChronosError } from '../../../core/values/error.js'
import { openStore } from '../../backend/direct.js'
import { type Schema, schemaOf } from '../../backend/schema.js'
import { type BackendOptions, storeAddress } from '../../backend/store-address.js'
import { EXIT } from '../../exit.js'
import { type Io, unlessInterrupted } from '../../io.js'
import { paint, type Style } from '../../output/print.js'
import { show } from '../../output/show.js'

import { oneLine } from '../../output/width.js'

export async function migrate(status: 'status' | undefined, options: BackendOptions, io: Io): Promise<number> {
  return status === undefined ? migrateStore(options, io) : showStatus(options, io)
}

async function migrateStore(options: BackendOptions, io: Io): Promise<number> {
  const store = await openStore(await storeAddress(options, io, 'migrate'))
  try {
    const { from, to } = await unlessInterrupted(store.migrate(), io.interrupted)
    const { engine, location } = await store.info()
    show(io, options, { from, to, location, engine }, style => {
      const where = `${oneLine(location)} ${paint(`(${engine})`, 'dim', style)}`
      if (from === to) return `${where}: schema ${to}, nothing to do\n`
      return `${where}: ${from === 0 ? `created with schema ${to}` : `migrated from schema ${from} to ${to}`}\n`
    })
    return EXIT.ok
  } finally {
    await store.close()
  }
}

async function showStatus(options: BackendOptions, io: Io): Promise<number> {
  const schema = await unlessInterrupted(schemaOf(await storeAddress(options, io, 'migrate')), io.interrupted)
  const needed = schema.version < schema.known
  show(io, options, { ...schema, needed }, style => statusLine(schema, style))
  if (schema.version > schema.known) throw newer(schema)
  return needed ? EXIT.checkFailed : EXIT.ok
}

function statusLine({ location, version, known }: Schema, style: Style): string {
  const where = oneLine(location)
  if (version === 0) return `${where}: ${paint('no tables yet', 'warn', style)}; \`chronos migrate\` creates them\n`
  if (version === known) return `${where}: schema ${version}, ${paint('up to date', 'good', style)}\n`
  if (version > known) return `${where}: schema ${version}, ${paint('newer than this chronos', 'bad', style)}\n`
  const words = paint(`this chronos needs ${known}`, 'warn', style)
  return `${where}: schema ${version}, ${words}; \`chronos migrate\` upgrades it\n`
}

function newer({ location, version, known }: Schema): ChronosError {
  return new ChronosError(
    'STORE_NEWER',
    `${location} has schema ${version} of a newer Chronos; this one supports up to ${known}: update chronos-jobs`,
    { details: { location, version, known } },
  )
}
