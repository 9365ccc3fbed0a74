import { useSignal } from '@preact/signals'
import type { EndpointView } from '../../../core/webhook/webhook.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { serverNow } from '../../data/clock.js'
import { localText } from '../../data/format.js'
import { Button } from '../../parts/button.js'
import { Editor } from '../../parts/form/editor.js'
import { Field, Input } from '../../parts/form/field.js'
import { go, segment } from '../../shell/router.js'
import { RateSlider } from '../dead/rate-slider.js'
import '../dead/dead.css'

const HOUR_MS = 3_600_000

/** Redrives the dead deliveries since a time. */
export function RecoverDialog({ webhook, onClose }: { readonly webhook: EndpointView; readonly onClose: () => void }) {
  const { id, url, failingSince, disabledAt } = webhook
  const since = useSignal(localText(Date.parse(failingSince ?? disabledAt ?? '') || serverNow() - 24 * HOUR_MS))
  const rate = useSignal(10)
  const at = Date.parse(since.value)
  const presets: readonly (readonly [text: string, at: number])[] = [
    ...(failingSince === undefined ? [] : [['Since the first failure', Date.parse(failingSince)] as const]),
    ['1 hour ago', serverNow() - HOUR_MS],
    ['1 day ago', serverNow() - 24 * HOUR_MS],
    ['1 week ago', serverNow() - 7 * 24 * HOUR_MS],
  ]
  return (
    <Editor
      title="Recover deliveries"
      verb="Recover deliveries"
      icon="redrive"
      onClose={onClose}
      isReady={!Number.isNaN(at)}
      onSave={() =>
        act({
          run: () => api.webhooks.recover(id, { since: new Date(at).toISOString(), rate: `${rate.value}/s` }),
          done: 'Started recovering deliveries',
          after: made => go(`/redrives/${segment(made.id)}`),
        })
      }
    >
      <p>
        Failed deliveries to <span class="mono">{url}</span> are sent again by a redrive that you can slow down, pause
        or abort. The receiver recognizes duplicates by their <code>webhook-id</code>.
      </p>
      <Field label="Since" hint="Local time" problem={Number.isNaN(at) ? 'Enter a date and a time' : undefined}>
        <Input value={since} type="datetime-local" />
      </Field>
      <div class="row wrap">
        {presets.map(([text, from]) => (
          <Button text={text} key={text} size="sm" onPress={() => (since.value = localText(from))} />
        ))}
      </div>
      <RateSlider rate={rate} />
    </Editor>
  )
}
