import { traceLink } from '../../core/values/trace-url.js'
import { shortId } from '../data/format.js'
import { session } from '../data/session.js'
import { Copyable } from './copyable.js'
import { Link } from './link.js'

/** The trace of an attempt: a link, if the server knows the address of the tracing backend. */
export function TraceId({ id }: { readonly id: string }) {
  const template = session.value?.traceUrl
  if (template === undefined) return <Copyable text={id} shown={shortId(id)} what="Trace id" />
  return <Link to={traceLink(template, id)} text={shortId(id)} />
}
