import { mergePolicies } from '../../../core/policy/policy.js'
import { PRESETS } from '../../../core/policy/presets.js'
import type { Missed } from '../../../core/schedule/schedule.js'
import type { ScheduleView } from '../../../engine/schedules/view.js'
import { jobTitle } from '../../data/format.js'
import { isTenant } from '../../data/session.js'
import { Tags } from '../../parts/badge.js'
import { Facts, Panel } from '../../parts/panel.js'
import { Time } from '../../parts/time.js'
import { policyWords } from '../../policy/policy-words.js'
import { href, pageOf } from '../../shell/router.js'
import { MISSED, missedChoice, missedText, OVERLAPS } from './schedule-words.js'

export function ScheduleFacts({ schedule }: { readonly schedule: ScheduleView }) {
  const { overlap, missed, queue, retry, tags, tenantId, splay, timeout, webhook, dependsOn } = schedule
  const { startAt, endAt, createdAt, updatedAt, version, recurring, priority, delivery } = schedule
  return (
    <Panel title="Configuration">
      <Facts
        facts={[
          ['Job', <span class="mono">{jobTitle(schedule.job, schedule.payload)}</span>],
          ['Queue', isTenant.value ? queue : <a href={pageOf('queues', queue)}>{queue}</a>],
          ['Overlap', <Rule word={overlap} means={OVERLAPS.find(({ value }) => value === overlap)?.means} />],
          ['Missed runs', <Rule word={missedText(missed)} means={missedMeans(missed)} />],
          ['Recurring', !recurring && 'no, runs once'],
          ['Splay', splay !== undefined && `up to ${splay} later`],
          ['Starts', startAt && <Time at={startAt} />],
          ['Ends', endAt && <Time at={endAt} />],
          ['Retries', retry ? policyWords(mergePolicies(retry, PRESETS.standard)) : 'default'],
          ['Priority', priority !== 5 && priority],
          ['Delivery', delivery !== 'at-least-once' && delivery],
          ['Timeout', timeout],
          ['Depends on', dependsOn && <span class="mono">{dependsOn}</span>],
          ['Webhook', webhook && <span class="mono">{webhook}</span>],
          ['Tenant', tenantId],
          ['Tags', tags.length > 0 && <Tags names={tags} to={tag => href('/jobs', { tag })} wrap />],
          ['Created', <Time at={createdAt} />],
          [
            'Changed',
            <>
              <Time at={updatedAt} /> <span class="muted">(version {version})</span>
            </>,
          ],
        ]}
      />
    </Panel>
  )
}

const missedMeans = (missed: Missed): string | undefined =>
  MISSED.find(({ value }) => value === missedChoice(missed))?.means

function Rule({ word, means }: { readonly word: string; readonly means: string | undefined }) {
  return (
    <>
      {word}
      <br />
      <span class="muted">{means}</span>
    </>
  )
}
