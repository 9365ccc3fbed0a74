import { useSignal } from '@preact/signals'
import type { Duration } from '../../../core/values/duration.js'
import type { NewToken, TokenView } from '../../../server/access/tokens.js'
import { act } from '../../data/actions.js'
import * as api from '../../data/api.js'
import { serverNow } from '../../data/clock.js'
import { useQuery } from '../../data/query.js'
import type { Role } from '../../data/session.js'
import { Badge } from '../../parts/badge.js'
import { Button } from '../../parts/button.js'
import { Copyable, CopyableId } from '../../parts/copyable.js'
import { Answer, Empty } from '../../parts/empty.js'
import { Field, Input, Select } from '../../parts/form/field.js'
import { Dialog } from '../../parts/layer/dialog.js'
import { type Column, Table } from '../../parts/list/table.js'
import { PageHead, Panel } from '../../parts/panel.js'
import { Time } from '../../parts/time.js'
import { useTitle } from '../../shell/title.js'

/** The API tokens. */
export default function Tokens() {
  useTitle('Tokens')
  const tokens = useQuery('tokens', api.tokens.list, { everyMs: 15_000 })
  const isMaking = useSignal(false)
  const made = useSignal<NewToken | undefined>(undefined)
  const make = (
    <Button tone="primary" icon="plus" onPress={() => (isMaking.value = true)}>
      New token
    </Button>
  )
  return (
    <>
      <PageHead title="Tokens" sub="Access to the API and this dashboard" actions={make} />
      <Answer query={tokens}>
        {({ data }) => (
          <Panel flush>
            {data.length === 0 ? (
              <Empty icon="tokens" title="No tokens">
                Access from this machine needs no token. Access from any other address requires one.
              </Empty>
            ) : (
              <Table label="Tokens" columns={columns(tokens.refetch)} rows={data} rowKey={({ id }) => id} />
            )}
          </Panel>
        )}
      </Answer>
      {isMaking.value && (
        <NewTokenDialog
          onClose={() => (isMaking.value = false)}
          onMade={token => {
            isMaking.value = false
            made.value = token
            tokens.refetch()
          }}
        />
      )}
      {made.value && <MadeDialog token={made.value} onClose={() => (made.value = undefined)} />}
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
      key: 'name',
      title: 'Name',
      width: 'grow',
      phone: 'head',
      render: ({ name }) => <span class="strong">{name}</span>,
    },
    {
      key: 'role',
      title: 'Role',
      render: ({ role }) => (
        <Badge hue={role === 'admin' ? 'accent' : 'off'} tip={ROLES[role]}>
          {role}
        </Badge>
      ),
    },
    { key: 'tenant', title: 'Tenant', render: ({ tenantId }) => tenantId ?? <span class="muted">all</span> },
    { key: 'created', title: 'Created', render: ({ createdAt }) => <Time at={createdAt} /> },
    { key: 'used', title: 'Last used', render: ({ usedAt }) => <Time at={usedAt} none="never" /> },
    {
      key: 'expires',
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
    { key: 'id', title: 'Id', phone: 'hide', render: ({ id }) => <CopyableId id={id} what="Token id" /> },
    {
      key: 'revoke',
      title: <span class="off-screen">Actions</span>,
      render: token => (
        <Button size="sm" tone="danger" onPress={() => void revoke(token, after)}>
          Revoke
        </Button>
      ),
    },
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

function NewTokenDialog({ onClose, onMade }: { onClose: () => void; onMade: (token: NewToken) => void }) {
  const name = useSignal('')
  const tenant = useSignal('')
  const role = useSignal<Role>('viewer')
  const lasts = useSignal<(typeof LASTS)[number]['value']>('90d')
  const make = async (): Promise<void> => {
    const token = await act({
      run: () =>
        api.tokens.create({
          name: name.value.trim(),
          role: role.value,
          ...(tenant.value.trim() !== '' && { tenantId: tenant.value.trim() }),
          ...(lasts.value !== '' && { expiresIn: lasts.value as Duration }),
        }),
      done: 'Created token',
    })
    if (token) onMade(token)
  }
  const isReady = name.value.trim() !== ''
  return (
    <Dialog
      title="New token"
      onClose={onClose}
      foot={
        <>
          <Button onPress={onClose}>Cancel</Button>
          <Button tone="primary" disabled={!isReady} onPress={() => void make()}>
            Create token
          </Button>
        </>
      }
    >
      <form
        class="stack"
        onSubmit={event => {
          event.preventDefault()
          if (isReady) void make()
        }}
      >
        <Field label="Name" hint="The owner or purpose, shown in the audit log">
          <Input value={name} autoFocus placeholder="deploy-bot" />
        </Field>
        <Field label="Role" hint={ROLES[role.value]}>
          <Select value={role.value} options={['viewer', 'operator', 'admin']} onChange={next => (role.value = next)} />
        </Field>
        <Field label="Tenant" hint="Limits access to one tenant; empty: all tenants">
          <Input value={tenant} />
        </Field>
        <Field label="Valid for">
          <Select value={lasts.value} options={LASTS} onChange={next => (lasts.value = next)} />
        </Field>
      </form>
    </Dialog>
  )
}

function MadeDialog({ token, onClose }: { readonly token: NewToken; readonly onClose: () => void }) {
  return (
    <Dialog
      title={`Token ${token.name}`}
      onClose={onClose}
      foot={
        <Button tone="primary" onPress={onClose}>
          Done
        </Button>
      }
    >
      <div class="stack">
        <p>The token is shown only once. Store it in a safe place.</p>
        <p class="filter-words">
          <Copyable text={token.token} what="Token" />
        </p>
      </div>
    </Dialog>
  )
}
