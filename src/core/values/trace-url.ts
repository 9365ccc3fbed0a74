import { value } from './schema.js'

const PLACE = '{traceId}'

/** The page of a trace in a tracing backend: `https://tempo.example/trace/{traceId}`. */
export const traceUrl = value<string>(
  {
    kinds: ['string'],
    expects: `an http or https address with ${PLACE}, such as https://tempo.example/traces/${PLACE}`,
  },
  given =>
    typeof given === 'string' &&
    given.length <= 2_048 &&
    given.includes(PLACE) &&
    /^https?:\/\//i.test(given) &&
    URL.canParse(given),
)

export const traceLink = (template: string, traceId: string): string =>
  template.replaceAll(PLACE, encodeURIComponent(traceId))
