import { useMemo, useState } from 'preact/hooks';
import { get, post } from '../../api/client';
import type { components } from '../../api/schema';
import { Time } from '../../components/time';
import { t as common } from '../../i18n/common';
import { count } from '../../i18n/format';
import { language } from '../../i18n/i18n';
import type { Column } from '../../table/table';
import { segment } from '../../url/codec';
import { GrantFields, Grants, grantBody, grantsColumn, grantsText, NEW_GRANT } from './grants';
import { Check, createdColumn, FormDialog, Remove, Secret, TextField, WholeList } from './parts';
import { t } from './strings';

type App = components['schemas']['AppRow'];

const rateText = (row: App) => (row.rate_limit === 0 ? t().apps.unlimited : count(row.rate_limit));

const columns = (): Column<App>[] => [
  { key: 'code', title: t().apps.code, width: 140, grow: 1, rank: 0, cell: row => row.code },
  grantsColumn(),
  {
    key: 'trusted',
    title: t().apps.trustedShort,
    width: 80,
    rank: 3,
    cell: row => (row.trusted ? common().yes : common().no),
  },
  { key: 'rate', title: t().apps.rate, width: 130, rank: 4, align: 'right', cell: rateText },
  createdColumn(2),
];

export function Apps() {
  return (
    <WholeList<App>
      section="apps"
      icon="admin"
      load={async signal => (await get<{ apps: App[] }>('/apps', {}, signal)).apps}
      keyOf={row => row.code}
      textOf={row => `${row.code} ${grantsText(row.grants)}`}
      columns={useMemo(columns, [language.value])}
      drawer={(row, reload, close) => (
        <>
          <dl class="facts">
            <dt>{t().apps.trustedShort}</dt>
            <dd>{row.trusted ? common().yes : common().no}</dd>
            <dt>{t().apps.rate}</dt>
            <dd>{rateText(row)}</dd>
            <dt>{t().created}</dt>
            <dd>
              <Time at={row.created_at} />
            </dd>
          </dl>
          <Grants key={row.code} of="apps" name={row.code} grants={row.grants} reload={reload} />
          <Remove
            what={row.code}
            text={t().apps.removeText}
            path={`/apps/${segment(row.code)}`}
            onRemoved={() => {
              close();
              reload();
            }}
          />
        </>
      )}
      form={(reload, close) => <NewApp reload={reload} close={close} />}
    />
  );
}

function NewApp({ reload, close }: { reload: () => void; close: () => void }) {
  const words = t();
  const [code, setCode] = useState('');
  const [trusted, setTrusted] = useState(false);
  const [rate, setRate] = useState('0');
  const [grant, setGrant] = useState(NEW_GRANT);
  return (
    <FormDialog
      title={words.create.apps}
      action={words.createButton}
      onClose={close}
      submit={async () => {
        const made = await post<{ code: string; secret: string }>('/apps', {
          code: code.trim(),
          trusted,
          rate_limit: Number(rate) || 0,
          grants: [grantBody(grant)],
        });
        reload();
        return (
          <>
            <Secret label={words.apps.code} value={made.code} />
            <Secret label={words.apps.secret} value={made.secret} />
          </>
        );
      }}
    >
      <TextField label={words.apps.code} value={code} onChange={setCode} required autofocus />
      <GrantFields draft={grant} onChange={setGrant} />
      <TextField label={words.apps.rate} type="number" value={rate} onChange={setRate} hint={words.apps.rateHint} />
      <Check label={words.apps.trusted} on={trusted} onChange={setTrusted} />
    </FormDialog>
  );
}
