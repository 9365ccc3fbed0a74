import { useSignal } from '@preact/signals'
import { type Role, tokenInput } from '../../../core/token/token.js'
import type { NewToken, TokenView } from '../../../server/access/tokens.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { serverNow } from '../../data/clock.js'
import { useQuery } from '../../data/query.js'
import { Badge } from '../../parts/badge.js'
import { Button } from '../../parts/button.js'
import { CopyableId } from '../../parts/copyable.js'
import { Empty } from '../../parts/empty.js'
import { Editor } from '../../parts/form/editor.js'
import { TypedField, useDraft } from '../../parts/form/form.js'
import { formOf } from '../../parts/form/typed.js'
import { SecretDialog } from '../../parts/layer/secret.js'
import { List } from '../../parts/list/list.js'
import { actionColumn, type Column } from '../../parts/list/table.js'
import { PageHead } from '../../parts/panel.js'
import { Time } from '../../parts/time.js'

export default function Tokens() {
  const tokens = useQuery('tokens', api.tokens.list, { everyMs: 15_000 })
  const isMaking = useSignal(false)
  const made = useSignal<NewToken | undefined>(undefined)
  const make = <Button text="Create token" tone="primary" icon="plus" onPress={() => (isMaking.value = true)} />
  return (
    <>
      <PageHead title="Tokens" sub="Access to the API and this dashboard" actions={make} />
      <List
        query={tokens}
        label="Tokens"
        columns={columns(tokens.refetch)}
        lines={6}
        empty={
          <Empty icon="tokens" title="No tokens">
            Access from this machine needs no token. Access from any other address requires one.
          </Empty>
        }
      />
      {isMaking.value && (
        <TokenEditor
          onClose={() => (isMaking.value = false)}
          after={token => {
            made.value = token
            tokens.refetch()
          }}
        />
      )}
      {made.value && (
        <SecretDialog
          title={`Token ${made.value.name}`}
          secret={made.value.token}
          what="Token"
          where="in a safe place"
          onClose={() => (made.value = undefined)}
        />
      )}
    </>
  )
}

const ROLES: Readonly<Record<Role, string>> = {
  viewer: 'Read-only access',
  operator: 'May cancel, retry, redrive and pause',
  admin: 'May also manage policies, alerts, webhooks and tokens',
}

function columns(after: () => void): readonly Column<TokenView>[] {
  return [
    {
      title: 'Name',
      width: 'grow',
      phone: 'head',
      sort: ({ name }) => name,
      render: ({ name }) => <span class="strong">{name}</span>,
    },
    {
      title: 'Role',
      render: ({ role }) => (
        <Badge hue={role === 'admin' ? 'accent' : 'off'} tip={ROLES[role]}>
          {role}
        </Badge>
      ),
    },
    {
      title: 'Tenant',
      sort: ({ tenantId }) => tenantId,
      render: ({ tenantId }) => tenantId ?? <span class="muted">all</span>,
    },
    { title: 'Created', sort: ({ createdAt }) => createdAt, render: ({ createdAt }) => <Time at={createdAt} /> },
    { title: 'Last used', sort: ({ usedAt }) => usedAt, render: ({ usedAt }) => <Time at={usedAt} none="never" /> },
    {
      title: 'Expires',
      render: ({ expiresAt }) =>
        expiresAt !== undefined && Date.parse(expiresAt) < serverNow() ? (
          <Badge hue="dead" icon="clock">
            expired
          </Badge>
        ) : (
          <Time at={expiresAt} none="never" />
        ),
    },
    { title: 'Id', phone: 'hide', render: ({ id }) => <CopyableId id={id} what="Token id" /> },
    actionColumn(
      token => <Button text="Revoke" size="sm" tone="danger" onPress={() => void revoke(token, after)} />,
      'show',
    ),
  ]
}

function revoke({ id, name }: TokenView, after: () => void): Promise<unknown> {
  return act({
    confirm: {
      title: `Revoke token ${name}?`,
      effect: 'Clients and browser sessions with this token lose access within seconds. This can’t be undone.',
      verb: 'Revoke token',
      tone: 'danger',
    },
    run: () => api.tokens.revoke(id),
    done: `Revoked token ${name}`,
    after,
  })
}

const LASTS = [
  { value: '30d', text: '30 days' },
  { value: '90d', text: '90 days' },
  { value: '365d', text: '1 year' },
  { value: '', text: 'no expiry' },
] as const

function TokenEditor({ onClose, after }: { readonly onClose: () => void; readonly after: (token: NewToken) => void }) {
  const draft = useDraft({ name: '', role: 'viewer' as Role, tenantId: '', expiresIn: '90d' })
  const form = formOf(tokenInput, draft)
  return (
    <Editor
      title="New token"
      verb="Create token"
      onClose={onClose}
      isReady={form.isReady}
      onSave={() => act({ run: () => api.tokens.create(form.body), done: 'Created token', after })}
    >
      <TypedField {...form} name="name" autoFocus />
      <TypedField {...form} name="role" hint={ROLES[draft.role.value]} />
      <TypedField {...form} name="tenantId" />
      <TypedField {...form} name="expiresIn" options={LASTS} />
    </Editor>
  )
}
