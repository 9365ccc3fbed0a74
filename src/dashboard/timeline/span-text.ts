import { formatMs } from '../../core/values/duration.js'

/** `250ms`, `4m 10s`: a duration as text. */
export const spanText = formatMs
