import { useSignal } from '@preact/signals'
import { shownUrl } from '../../../core/http/shown-url.js'
import { recoverOptions } from '../../../core/redrive/redrive.js'
import type { EndpointView } from '../../../core/webhook/webhook.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { serverNow } from '../../data/clock.js'
import { localText } from '../../data/format.js'
import { Button } from '../../parts/button.js'
import { Editor } from '../../parts/form/editor.js'
import { TypedField, useDraft } from '../../parts/form/form.js'
import { formOf } from '../../parts/form/typed.js'
import { go, segment } from '../../shell/router.js'
import { RateSlider } from '../dead/rate-slider.js'
import '../dead/dead.css'

const HOUR_MS = 3_600_000

/** Redrives the dead deliveries since a time. */
export function RecoverDialog({ webhook, onClose }: { readonly webhook: EndpointView; readonly onClose: () => void }) {
  const { id, url, failingSince, disabledAt } = webhook
  const first = Date.parse(failingSince ?? disabledAt ?? '') || serverNow() - 24 * HOUR_MS
  const draft = useDraft({ since: localText(first) })
  const rate = useSignal(10)
  const form = formOf(recoverOptions, draft, { rate: `${rate.value}/s` })
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
      isReady={form.isReady}
      onSave={() =>
        act({
          run: () => api.webhooks.recover(id, form.body),
          done: 'Started recovering deliveries',
          after: made => go(`/redrives/${segment(made.id)}`),
        })
      }
    >
      <p>
        Failed deliveries to <span class="mono">{shownUrl(url)}</span> are sent again by a redrive that you can slow
        down, pause or abort. The receiver recognizes duplicates by their <code>webhook-id</code>.
      </p>
      <TypedField {...form} name="since" />
      <div class="row wrap">
        {presets.map(([text, from]) => (
          <Button text={text} key={text} size="sm" onPress={() => (draft.since.value = localText(from))} />
        ))}
      </div>
      <RateSlider rate={rate} />
    </Editor>
  )
}
