import { formatMs } from '../../core/values/duration.js'

/** `250 ms`, `4 m 10 s`: a duration as text. */
export const spanText = (ms: number): string => formatMs(ms).replace(/(\d)(ms|[smhd])/g, '$1 $2')
