import { formatMs } from '../../core/values/duration.js'

/** `250 ms`, `4 m 10 s`: how long something is, as the rest of the dashboard writes it. */
export const spanText = (ms: number): string => formatMs(ms).replace(/(\d)(ms|[smhd])/g, '$1 $2')
