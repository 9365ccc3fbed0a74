import { timeText } from '../../core/job/view.js'
import { anyText, anything, type Infer, integer, named } from '../../core/values/schema.js'
import { view } from '../../core/values/shape.js'
import { timestamp } from '../../core/values/time.js'
import type { LogRecord } from '../../store/store.js'

export const logView = named('LogLine', view({ at: timestamp, run: integer(), message: anyText }, { data: anything }))
export type LogView = Infer<typeof logView>

export function viewLog({ at, run, message, data }: LogRecord): LogView {
  return {
    at: timeText(at),
    run,
    message,
    ...(data !== undefined && { data: JSON.parse(data) as unknown }),
  }
}
