import { mergePolicies } from '../../../core/policy/policy.js'
import { PRESETS } from '../../../core/policy/presets.js'
import type { ScheduleView } from '../../../engine/schedules/view.js'
import { isTenant } from '../../data/session.js'
import { Tag } from '../../parts/badge.js'
import { Facts, Panel } from '../../parts/panel.js'
import { Time } from '../../parts/time.js'
import { policyWords } from '../../policy/policy-words.js'
import { href, segment } from '../../shell/router.js'
import { MISSED, missedChoice, missedText, OVERLAPS, targetOf } from './schedule-words.js'

/** What somebody said about it. */
export function ScheduleFacts({ schedule }: { readonly schedule: ScheduleView }) {
  const { overlap, missed, queue, retry, tags, tenantId, splay, timeout, webhook, dependsOn } = schedule
  const { startAt, endAt, createdAt, updatedAt, version, recurring, priority, delivery } = schedule
  return (
    <Panel title="As it was said">
      <Facts
        facts={[
          ['Makes', <span class="mono">{targetOf(schedule)}</span>],
          ['Queue', isTenant.value ? queue : <a href={href(`/queues/${segment(queue)}`)}>{queue}</a>],
          ['Overlap', <Rule word={overlap} means={OVERLAPS.find(({ value }) => value === overlap)?.means} />],
          [
            'Missed',
            <Rule
              word={missedText(missed)}
              means={MISSED.find(({ value }) => value === missedChoice(missed))?.means}
            />,
          ],
          recurring ? undefined : ['Happens', 'once'],
          splay === undefined ? undefined : ['Splay', `up to ${splay} later`],
          startAt === undefined ? undefined : ['Begins', <Time at={startAt} />],
          endAt === undefined ? undefined : ['Ends', <Time at={endAt} />],
          ['Retries', retry ? policyWords(mergePolicies(retry, PRESETS.standard)) : 'as usual'],
          priority === 5 ? undefined : ['Priority', priority],
          delivery === 'at-least-once' ? undefined : ['Delivery', delivery],
          timeout === undefined ? undefined : ['Timeout', timeout],
          dependsOn === undefined ? undefined : ['Depends on', <span class="mono">{dependsOn}</span>],
          webhook === undefined ? undefined : ['Tells', <span class="mono">{webhook}</span>],
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
          ['Made', <Time at={createdAt} />],
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
