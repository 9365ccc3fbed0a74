/** Deliveries are jobs of this queue. They raise no events, and do not count as retries of the user's jobs. */
export const DELIVERIES = 'chronos:deliveries'
export const DELIVERY_JOB = 'chronos:delivery'

const ENDPOINT = 'webhook:'

/** The dependency of deliveries to an endpoint id, or to the origin of a job's own URL. */
export const endpointKey = (endpoint: string): string => ENDPOINT + endpoint

/** Whether the dependency is an endpoint, and not a URL that a job named. */
export const isEndpointKey = (key: string): boolean =>
  key.startsWith(ENDPOINT) && !/^https?:/.test(key.slice(ENDPOINT.length))

interface Delivery {
  readonly queue: string
  readonly dependency?: string
  readonly tenantId?: string
}

/**
 * The partition of a delivery: its endpoint, or the origin of a job's own URL, which each tenant has for itself because
 * many tenants may use the same service. Undefined for other jobs.
 */
export function deliveryPartition({ queue, dependency, tenantId }: Delivery): string | undefined {
  if (queue !== DELIVERIES || dependency === undefined) return undefined
  return tenantId === undefined || isEndpointKey(dependency) ? dependency : `${dependency} ${tenantId}`
}

/** What receives the deliveries of a partition, in words; undefined if it is not one of deliveries. */
export function deliveryWords(queue: string, partition: string): string | undefined {
  if (queue !== DELIVERIES || !partition.startsWith(ENDPOINT)) return undefined
  return `webhook ${isEndpointKey(partition) ? 'endpoint' : 'URL'} ${partition.slice(ENDPOINT.length)}`
}
