import type { JobView } from '../../../core/job/view.js'
import { asCurl, asLiteral, quoted, type Sample } from '../../data/copy.js'
import { jsonText } from '../../parts/json.js'

/** Code that creates a job like this one, in three languages. */
export function sampleOf(job: JobView): Sample {
  const { name, payload, queue, priority, tags, delivery, tenantId, key } = job
  const options = {
    ...(queue !== 'default' && { queue }),
    ...(priority !== 5 && { priority }),
    ...(tags.length > 0 && { tags }),
    ...(delivery !== 'at-least-once' && { delivery }),
    ...(tenantId !== undefined && { tenantId }),
    ...(key !== undefined && { key: `${key}-again` }),
  }
  const more = Object.keys(options).length > 0 ? `, ${asLiteral(options)}` : ''
  if (name === 'http') {
    return {
      curl: asCurl('POST', '/jobs', { http: payload, ...options }),
      ts: `await chronos.http(${asLiteral(payload)}${more})`,
      cli: `chronos http ${httpWords(payload)}`,
    }
  }
  const flags = [
    ...(queue === 'default' ? [] : [`--queue ${quoted(queue)}`]),
    ...(priority === 5 ? [] : [`--priority ${priority}`]),
    ...tags.map(tag => `--tag ${quoted(tag)}`),
  ]
  return {
    curl: asCurl('POST', '/jobs', { name, payload, ...options }),
    ts: `await chronos.enqueue('${name}', ${asLiteral(payload)}${more})`,
    cli: [`chronos enqueue ${quoted(name)} --payload ${quoted(jsonText(payload, 0))}`, ...flags].join(' '),
  }
}

function httpWords(payload: unknown): string {
  const { method = 'GET', url = '' } = (payload ?? {}) as { readonly method?: string; readonly url?: string }
  return `${method} ${quoted(url)}`
}
