import type { JobView } from '../../../core/job/view.js'
import { present } from '../../../core/values/present.js'
import type { NewJobBody } from '../../data/api.js'
import { flagsOf, quoted, word } from '../../data/command.js'
import { asCurl, asLiteral, type Sample } from '../../data/copy.js'
import { jsonText } from '../../parts/json.js'

/** Code that creates a job like this one. */
export function sampleOf({ name, payload, queue, priority, tags, delivery, tenantId, key }: JobView): Sample {
  return sampleOfBody({
    ...(name === 'http' ? { http: payload as NonNullable<NewJobBody['http']> } : { name, payload }),
    ...present({
      queue: queue === 'default' ? undefined : queue,
      priority: priority === 5 ? undefined : priority,
      tags: tags.length === 0 ? undefined : tags,
      delivery: delivery === 'at-least-once' ? undefined : delivery,
      tenantId,
      key: key === undefined ? undefined : `${key}-again`,
    }),
  })
}

/** A new job as code in three languages. */
export function sampleOfBody(body: NewJobBody): Sample {
  const { http, name = '', payload, ...options } = body
  const more = Object.keys(options).length > 0 ? `, ${asLiteral(options)}` : ''
  const curl = asCurl('POST', '/jobs', body)
  if (http) {
    const data = http.body === undefined ? [] : [`--data ${word(http.body)}`]
    return {
      curl,
      ts: `await chronos.http(${asLiteral(http)}${more})`,
      cli: [`chronos http ${http.method ?? 'GET'} ${quoted(http.url)}`, ...data, ...flagsOf(options)].join(' '),
    }
  }
  return {
    curl,
    ts: `await chronos.enqueue(${asLiteral(name)}, ${asLiteral(payload)}${more})`,
    cli: [`chronos enqueue ${quoted(name)} --payload ${quoted(jsonText(payload, 0))}`, ...flagsOf(options)].join(' '),
  }
}
