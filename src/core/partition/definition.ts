import { read, type Schema } from '../values/schema.js'
import { partitionName, type Units, units } from './limits.js'

/** What a job definition says about the limits of its jobs: values, or functions of the payload. */
interface Definition {
  readonly name: string
  readonly partition?: string | ((payload: never) => string | undefined)
  readonly units?: Units | ((payload: never) => Units | undefined)
}

interface Turn {
  readonly partition?: string | undefined
  readonly units?: Units | undefined
}

/** The options of the enqueue take precedence over the definition. What a function returns is checked as an option is. */
export function turnOf(definition: Definition, options: Turn, input: unknown): Turn {
  const { name, partition, units: cost } = definition
  if (partition === undefined && cost === undefined) return options
  const computed = <T>(schema: Schema<T>, said: unknown, what: string): T | undefined => {
    if (typeof said !== 'function') return said as T | undefined
    const value: unknown = said(input)
    return value === undefined ? undefined : read(schema, value, `job "${name}": ${what}`)
  }
  return {
    partition: options.partition ?? computed(partitionName, partition, 'partition'),
    units: options.units ?? computed(units, cost, 'units'),
  }
}
