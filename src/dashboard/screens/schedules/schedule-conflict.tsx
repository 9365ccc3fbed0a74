import type { ScheduleView } from '../../../engine/schedules/view.js'
import { Button } from '../../parts/button.js'
import { Icon } from '../../parts/icon.js'
import { Time } from '../../parts/time.js'
import { saidBy } from './schedule-actions.js'
import './schedule.css'

interface ScheduleConflictProps {
  readonly theirs: ScheduleView
  readonly mine: Readonly<Record<string, unknown>>
  readonly canSave: boolean
  readonly onLoad: () => void
  readonly onOverwrite: () => void
}

/** Shows both versions after a concurrent change. */
export function ScheduleConflict({ theirs, mine, canSave, onLoad, onOverwrite }: ScheduleConflictProps) {
  const now = saidBy(theirs)
  const keys = [...new Set([...Object.keys(now), ...Object.keys(mine)])].filter(
    key => textOf(now[key]) !== textOf(mine[key]),
  )
  return (
    <div class="notice retry" role="alert">
      <Icon name="warning" />
      <span class="grow">
        <span class="strong">Another user changed this schedule</span>, <Time at={theirs.updatedAt} />. It is now{' '}
        {theirs.state}, version {theirs.version}.
      </span>
      <Button text="Load their version" size="sm" onPress={onLoad} />
      <Button text="Overwrite with my version" size="sm" tone="danger" disabled={!canSave} onPress={onOverwrite} />
      {keys.length > 0 && (
        <table class="schedule-conflict">
          <thead>
            <tr>
              <th scope="col">Field</th>
              <th scope="col">Theirs</th>
              <th scope="col">Yours</th>
            </tr>
          </thead>
          <tbody>
            {keys.map(key => (
              <tr key={key}>
                <th scope="row">{key}</th>
                <td class="mono">{textOf(now[key]) ?? 'default'}</td>
                <td class="mono">{textOf(mine[key]) ?? 'default'}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </div>
  )
}

const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : JSON.stringify(value))
