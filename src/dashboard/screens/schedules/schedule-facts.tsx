import { mergePolicies } from '../../../core/policy/policy.js'
import { PRESETS } from '../../../core/policy/presets.js'
import type { ScheduleView } from '../../../engine/schedules/view.js'
import { isTenant } from '../../data/session.js'
import { Tag } from '../../parts/badge.js'
import { Facts, Panel } from '../../parts/panel.js'
import { Time } from '../../parts/time.js'
import { policyWords } from '../../policy/policy-words.js'
import { href, segment } from '../../shell/router.js'
import { jobNameOf, MISSED, missedChoice, missedText, OVERLAPS } from './schedule-words.js'

/** The configuration of a schedule. */
export function ScheduleFacts({ schedule }: { readonly schedule: ScheduleView }) {
  const { overlap, missed, queue, retry, tags, tenantId, splay, timeout, webhook, dependsOn } = schedule
  const { startAt, endAt, createdAt, updatedAt, version, recurring, priority, delivery } = schedule
  return (
    <Panel title="Configuration">
      <Facts
        facts={[
          ['Job', <span class="mono">{jobNameOf(schedule)}</span>],
          ['Queue', isTenant.value ? queue : <a href={href(`/queues/${segment(queue)}`)}>{queue}</a>],
          ['Overlap', <Rule word={overlap} means={OVERLAPS.find(({ value }) => value === overlap)?.means} />],
          [
            'Missed runs',
            <Rule
              word={missedText(missed)}
              means={MISSED.find(({ value }) => value === missedChoice(missed))?.means}
            />,
          ],
          recurring ? undefined : ['Recurring', 'no, runs once'],
          splay === undefined ? undefined : ['Splay', `up to ${splay} later`],
          startAt === undefined ? undefined : ['Starts', <Time at={startAt} />],
          endAt === undefined ? undefined : ['Ends', <Time at={endAt} />],
          ['Retries', retry ? policyWords(mergePolicies(retry, PRESETS.standard)) : 'default'],
          priority === 5 ? undefined : ['Priority', priority],
          delivery === 'at-least-once' ? undefined : ['Delivery', delivery],
          timeout === undefined ? undefined : ['Timeout', timeout],
          dependsOn === undefined ? undefined : ['Depends on', <span class="mono">{dependsOn}</span>],
          webhook === undefined ? undefined : ['Webhook', <span class="mono">{webhook}</span>],
          tenantId === undefined ? undefined : ['Tenant', tenantId],
          tags.length === 0
            ? undefined
            : [
                'Tags',
                <span class="row wrap tight">
                  {tags.map(tag => (
                    <Tag key={tag} href={href('/jobs', { tag })}>
                      {tag}
                    </Tag>
                  ))}
                </span>,
              ],
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

function Rule({ word, means }: { readonly word: string; readonly means: string | undefined }) {
  return (
    <>
      {word}
      <br />
      <span class="muted">{means}</span>
    </>
  )
}
