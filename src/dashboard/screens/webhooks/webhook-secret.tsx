import { Button } from '../../parts/button.js'
import { CodeSample } from '../../parts/code-sample.js'
import { Copyable } from '../../parts/copyable.js'
import { Icon } from '../../parts/icon.js'
import { Dialog } from '../../parts/layer/dialog.js'
import './webhook.css'

interface SecretDialogProps {
  readonly secret: string
  readonly title: string
  readonly onClose: () => void
}

/** Shows a new secret once. */
export function SecretDialog({ secret, title, onClose }: SecretDialogProps) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      size="lg"
      foot={
        <Button tone="primary" onPress={onClose}>
          Done
        </Button>
      }
    >
      <div class="stack">
        <p class="notice retry">
          <Icon name="warning" /> The secret is shown only once. Store it where the receiver can read it.
        </p>
        <p class="webhook-secret">
          <Copyable text={secret} what="Secret" />
        </p>
        <VerifySample />
      </div>
    </Dialog>
  )
}

/** Sample code that verifies the signature of a delivery. */
export const VerifySample = () => <CodeSample label="Signature verification" sample={SAMPLES} />

const SAMPLES = {
  ts: `import { verifyWebhook } from 'chronos-jobs'

// Use the raw body, not parsed and re-encoded JSON.
const message = verifyWebhook({ body, headers: request.headers, secret })
if (await isNew(message.id)) await handle(message.type, message.data)`,
  node: `import { createHmac, timingSafeEqual } from 'node:crypto'

const id = headers['webhook-id'], at = headers['webhook-timestamp']
const key = Buffer.from(secret.slice('whsec_'.length), 'base64')
const ours = createHmac('sha256', key).update(\`\${id}.\${at}.\`).update(body).digest()
const isOurs = headers['webhook-signature'].split(' ').some(each => {
  const theirs = Buffer.from(each.replace('v1,', ''), 'base64')
  return theirs.length === ours.length && timingSafeEqual(theirs, ours)
})
const isFresh = Math.abs(Date.now() / 1000 - Number(at)) < 300`,
  python: `import base64, hashlib, hmac, time

key = base64.b64decode(secret.removeprefix("whsec_"))
signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
ours = "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
is_ours = any(hmac.compare_digest(ours, each) for each in headers["webhook-signature"].split(" "))
is_fresh = abs(time.time() - int(headers["webhook-timestamp"])) < 300`,
} as const
