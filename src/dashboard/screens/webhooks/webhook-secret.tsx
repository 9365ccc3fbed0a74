import { CodeSample } from '../../parts/code-sample.js'
import { SecretDialog } from '../../parts/layer/secret.js'

interface WebhookSecretProps {
  readonly secret: string
  readonly title: string
  readonly onClose: () => void
}

/** A new secret with code that uses it. */
export function WebhookSecret(props: WebhookSecretProps) {
  return (
    <SecretDialog {...props} what="Secret" where="where the receiver can read it">
      <VerifySample />
    </SecretDialog>
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
