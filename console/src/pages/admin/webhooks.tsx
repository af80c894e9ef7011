import { useMemo, useState } from 'preact/hooks';
import { get, post } from '../../api/client';
import type { components } from '../../api/schema';
import { Button } from '../../components/button';
import { ProgressBadge } from '../../components/state-badge';
import { errorText } from '../../components/states';
import { now, Time } from '../../components/time';
import { count, duration } from '../../i18n/format';
import { language } from '../../i18n/i18n';
import type { Column } from '../../table/table';
import { segment } from '../../url/codec';
import { FormDialog, words as listOf, Remove, Secret, TextField, WholeList } from './parts';
import { t } from './strings';

type Webhook = components['schemas']['WebhookRow'];
type Tested = components['schemas']['WebhookTest'];

const allOr = (names: string[] | null | undefined) => (names ? names.join(', ') : t().webhooks.all);

function State({ row }: { row: Webhook }) {
  const failing = row.failing_since;
  return (
    <ProgressBadge
      state={failing ? 'failed' : 'ok'}
      text={failing ? t().webhooks.failing(duration(Math.max(0, now.value - failing))) : t().webhooks.works}
    />
  );
}

const columns = (): Column<Webhook>[] => [
  { key: 'state', title: t().webhooks.state, width: 130, rank: 0, cell: row => <State row={row} /> },
  { key: 'url', title: t().webhooks.url, width: 180, grow: 3, rank: 0, cell: row => row.url },
  {
    key: 'namespaces',
    title: t().namespaces,
    width: 110,
    grow: 1,
    rank: 3,
    cell: row => allOr(row.namespaces),
  },
  { key: 'kinds', title: t().webhooks.kinds, width: 110, grow: 1, rank: 4, cell: row => allOr(row.kinds) },
  {
    key: 'delivered',
    title: t().webhooks.delivered,
    width: 86,
    rank: 1,
    align: 'right',
    cell: row => count(row.delivered),
  },
  { key: 'failed', title: t().webhooks.failed, width: 70, rank: 2, align: 'right', cell: row => count(row.failed) },
];

export function Webhooks() {
  return (
    <WholeList<Webhook>
      section="webhooks"
      icon="link"
      load={async signal => (await get<{ webhooks: Webhook[] }>('/webhooks', {}, signal)).webhooks}
      keyOf={row => row.id}
      textOf={row => `${row.id} ${row.url}`}
      columns={useMemo(columns, [language.value])}
      drawer={(row, reload, close) => <WebhookDrawer key={row.id} row={row} reload={reload} close={close} />}
      form={(reload, close) => <NewWebhook reload={reload} close={close} />}
    />
  );
}

function WebhookDrawer({ row, reload, close }: { row: Webhook; reload: () => void; close: () => void }) {
  const words = t();
  const [busy, setBusy] = useState(false);
  const [tested, setTested] = useState<{ ok: boolean; text: string } | null>(null);
  const test = async () => {
    setBusy(true);
    try {
      const answer = await post<Tested>(`/webhooks/${segment(row.id)}/test`);
      setTested({
        ok: answer.delivered,
        text: answer.delivered
          ? words.webhooks.testOk(count(answer.took_ms))
          : words.webhooks.testBad(answer.error ?? String(answer.status ?? '')),
      });
    } catch (error) {
      setTested({ ok: false, text: errorText(error as Error) });
    }
    setBusy(false);
    reload();
  };
  return (
    <>
      <dl class="facts">
        <dt>{words.webhooks.url}</dt>
        <dd>{row.url}</dd>
        <dt>{words.webhooks.state}</dt>
        <dd>
          <State row={row} />
        </dd>
        <dt>{words.namespaces}</dt>
        <dd>{allOr(row.namespaces)}</dd>
        <dt>{words.webhooks.kinds}</dt>
        <dd>{allOr(row.kinds)}</dd>
        <dt>{words.webhooks.delivered}</dt>
        <dd>{count(row.delivered)}</dd>
        <dt>{words.webhooks.failed}</dt>
        <dd>{count(row.failed)}</dd>
        {row.last_error && (
          <>
            <dt>{words.webhooks.lastError}</dt>
            <dd>{row.last_error}</dd>
          </>
        )}
        <dt>{words.created}</dt>
        <dd>
          <Time at={row.created_at} />
        </dd>
      </dl>
      <div class="line">
        <Button size="small" icon="start" busy={busy} onClick={test}>
          {words.webhooks.test}
        </Button>
      </div>
      {tested && (
        <p class={`note ${tested.ok ? '' : 'note-bad'}`} role="status">
          {tested.text}
        </p>
      )}
      <Remove
        what={row.url}
        text={words.webhooks.removeText}
        path={`/webhooks/${segment(row.id)}`}
        onRemoved={() => {
          close();
          reload();
        }}
      />
    </>
  );
}

function NewWebhook({ reload, close }: { reload: () => void; close: () => void }) {
  const words = t();
  const [url, setUrl] = useState('');
  const [namespaces, setNamespaces] = useState('');
  const [kinds, setKinds] = useState('');
  return (
    <FormDialog
      title={words.create.webhooks}
      action={words.createButton}
      onClose={close}
      submit={async () => {
        const made = await post<{ secret: string }>('/webhooks', {
          url: url.trim(),
          ...(listOf(namespaces).length > 0 ? { namespaces: listOf(namespaces) } : {}),
          ...(listOf(kinds).length > 0 ? { kinds: listOf(kinds) } : {}),
        });
        reload();
        return <Secret label={words.webhooks.secret} value={made.secret} />;
      }}
    >
      <TextField label={words.webhooks.url} type="url" value={url} onChange={setUrl} required autofocus />
      <TextField
        label={words.namespaces}
        value={namespaces}
        onChange={setNamespaces}
        hint={words.webhooks.namespacesHint}
      />
      <TextField label={words.webhooks.kinds} value={kinds} onChange={setKinds} hint={words.webhooks.kindsHint} />
    </FormDialog>
  );
}
