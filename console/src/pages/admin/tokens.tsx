import { useMemo, useState } from 'preact/hooks';
import { get, post } from '../../api/client';
import type { components } from '../../api/schema';
import type { CreatedToken } from '../../api/types';
import { Select } from '../../components/select';
import { now, Time } from '../../components/time';
import { t as common } from '../../i18n/common';
import { count, duration } from '../../i18n/format';
import { language } from '../../i18n/i18n';
import { joinCommand } from '../../join/command';
import type { Column } from '../../table/table';
import { segment } from '../../url/codec';
import { Check, createdColumn, FormDialog, Remove, Secret, TextField, WholeList } from './parts';
import { t } from './strings';

type Token = components['schemas']['TokenRow'];

function expiresText(row: Token): string {
  if (row.expires_at === 0) return t().tokens.never;
  const left = row.expires_at - now.value;
  return left <= 0 ? t().tokens.expired : t().tokens.in(duration(left));
}

const usesText = (row: Token) => (typeof row.uses_left === 'number' ? count(row.uses_left) : t().tokens.any);

const columns = (): Column<Token>[] => [
  { key: 'id', title: t().tokens.id, width: 140, grow: 2, rank: 0, cell: row => <code>{row.id}</code> },
  { key: 'expires', title: t().tokens.expires, width: 110, grow: 1, rank: 0, cell: expiresText },
  { key: 'uses', title: t().tokens.uses, width: 100, rank: 1, align: 'right', cell: usesText },
  { key: 'host', title: t().tokens.host, width: 120, grow: 1, rank: 2, cell: row => row.host ?? t().tokens.anyHost },
  createdColumn(3),
];

export function Tokens() {
  return (
    <WholeList<Token>
      section="tokens"
      icon="admin"
      load={async signal => (await get<{ tokens: Token[] }>('/tokens', {}, signal)).tokens}
      keyOf={row => row.id}
      textOf={row => `${row.id} ${row.host ?? ''}`}
      columns={useMemo(columns, [language.value])}
      drawer={(row, reload, close) => (
        <>
          <dl class="facts">
            <dt>{t().tokens.expires}</dt>
            <dd>{expiresText(row)}</dd>
            <dt>{t().tokens.uses}</dt>
            <dd>{usesText(row)}</dd>
            <dt>{t().tokens.host}</dt>
            <dd>{row.host ?? t().tokens.anyHost}</dd>
            <dt>{t().tokens.replace}</dt>
            <dd>{row.replace ? common().yes : common().no}</dd>
            <dt>{t().created}</dt>
            <dd>
              <Time at={row.created_at} />
            </dd>
          </dl>
          <Remove
            what={row.id}
            text={t().tokens.removeText}
            path={`/tokens/${segment(row.id)}`}
            onRemoved={() => {
              close();
              reload();
            }}
          />
        </>
      )}
      form={(reload, close) => <NewToken reload={reload} close={close} />}
    />
  );
}

function NewToken({ reload, close }: { reload: () => void; close: () => void }) {
  const words = t();
  const [expires, setExpires] = useState('1h');
  const [uses, setUses] = useState('');
  const [host, setHost] = useState('');
  const [replace, setReplace] = useState(false);
  return (
    <FormDialog
      title={words.create.tokens}
      action={words.createButton}
      onClose={close}
      submit={async () => {
        const made = await post<CreatedToken>('/tokens', {
          ...(expires ? { expires_in: expires } : {}),
          ...(uses.trim() ? { uses: Number(uses) } : {}),
          ...(host.trim() ? { host: host.trim() } : {}),
          ...(replace ? { replace } : {}),
        });
        reload();
        return (
          <>
            <Secret label={words.tokens.token} value={made.token} />
            <Secret label={words.tokens.command} value={joinCommand(made)} />
          </>
        );
      }}
    >
      <div class="field">
        <span class="field-label">{words.tokens.expires}</span>
        <Select
          label={words.tokens.expires}
          value={expires}
          choices={[
            ...['1h', '24h', '7d'].map(value => ({
              value,
              label: words.tokens.in(duration(value === '1h' ? 3_600_000 : value === '24h' ? 86_400_000 : 604_800_000)),
            })),
            { value: '', label: words.tokens.never },
          ]}
          onChange={setExpires}
        />
      </div>
      <TextField label={words.tokens.usesField} type="number" value={uses} onChange={setUses} hint={words.tokens.any} />
      <TextField label={words.tokens.host} value={host} onChange={setHost} hint={words.tokens.hostHint} />
      <Check label={words.tokens.replace} on={replace} onChange={setReplace} />
    </FormDialog>
  );
}
