/** What a user or an app may do: shown, granted, revoked. */
import { useState } from 'preact/hooks';
import { call, post } from '../../api/client';
import type { Grant } from '../../api/types';
import { Button } from '../../components/button';
import { Select } from '../../components/select';
import { errorText } from '../../components/states';
import { toast } from '../../components/toast';
import type { Column } from '../../table/table';
import { segment } from '../../url/codec';
import { FormDialog, TextField, words } from './parts';
import { t } from './strings';

const ROLES = ['viewer', 'operator', 'admin'] as const;

const roleWord = (role: string) => (t().roles as Record<string, string>)[role] ?? role;

function whereText(grant: Grant): string {
  if (grant.everything) return t().everything;
  return [
    ...(grant.label ? [t().withLabels(grant.label)] : []),
    ...(grant.namespaces.length > 0 ? [t().inNamespaces(grant.namespaces.join(', '))] : []),
    ...(grant.businesses.length > 0 ? [t().inBusinesses(grant.businesses.join(', '))] : []),
  ].join(' · ');
}

export const grantsText = (grants: Grant[]) =>
  grants.length === 0
    ? t().nothingGranted
    : grants.map(grant => `${roleWord(grant.role)}: ${whereText(grant)}`).join('; ');

export const grantsColumn = <T extends { grants: Grant[] }>(): Column<T> => ({
  key: 'grants',
  title: t().grants,
  width: 160,
  grow: 4,
  rank: 1,
  cell: row => <span title={grantsText(row.grants)}>{grantsText(row.grants)}</span>,
});

export interface GrantDraft {
  role: string;
  namespaces: string;
  businesses: string;
  label: string;
}

export const NEW_GRANT: GrantDraft = { role: 'viewer', namespaces: '', businesses: '', label: '' };

export const grantBody = (draft: GrantDraft) => {
  const namespaces = words(draft.namespaces);
  const businesses = words(draft.businesses).map(Number);
  return {
    role: draft.role,
    ...(draft.role !== 'admin' && namespaces.length > 0 ? { namespaces } : {}),
    ...(draft.role !== 'admin' && businesses.length > 0 ? { businesses } : {}),
    ...(draft.role !== 'admin' && draft.label.trim() ? { label: draft.label.trim() } : {}),
  };
};

export function GrantFields({ draft, onChange }: { draft: GrantDraft; onChange: (draft: GrantDraft) => void }) {
  const texts = t();
  const role = draft.role as (typeof ROLES)[number];
  return (
    <>
      <div class="field">
        <span class="field-label">{texts.role}</span>
        <div class="line">
          <Select
            label={texts.role}
            value={draft.role}
            choices={ROLES.map(value => ({ value, label: roleWord(value) }))}
            onChange={value => onChange({ ...draft, role: value })}
          />
          <span class="admin-hint grow">{texts.roleText[role]}</span>
        </div>
      </div>
      {role !== 'admin' && (
        <>
          <TextField
            label={texts.namespaces}
            value={draft.namespaces}
            onChange={namespaces => onChange({ ...draft, namespaces })}
          />
          <TextField
            label={texts.businesses}
            value={draft.businesses}
            hint={texts.whereHint}
            onChange={businesses => onChange({ ...draft, businesses })}
          />
          <TextField
            label={texts.labels}
            value={draft.label}
            hint={draft.label.trim() ? texts.labelsCover : texts.labelsHint}
            onChange={label => onChange({ ...draft, label })}
          />
        </>
      )}
    </>
  );
}

interface GrantsProps {
  of: 'users' | 'apps';
  name: string;
  grants: Grant[];
  reload: () => void;
}

export function Grants({ of, name, grants, reload }: GrantsProps) {
  const [granting, setGranting] = useState(false);
  const [draft, setDraft] = useState(NEW_GRANT);
  const texts = t();
  const path = `/${of}/${segment(name)}/grants`;
  const revoke = (grant: Grant) => {
    const { role, namespaces, businesses, label } = grant;
    const body = grant.everything ? { role } : { role, namespaces, businesses, ...(label ? { label } : {}) };
    call('DELETE', path, { body }).then(reload, (error: Error) =>
      toast(() => `${texts.refused}: ${errorText(error)}`, 'bad'),
    );
  };
  return (
    <section class="stack-tight">
      <div class="line">
        <h3 class="grow">{texts.grants}</h3>
        <Button
          size="small"
          icon="plus"
          onClick={() => {
            setDraft(NEW_GRANT);
            setGranting(true);
          }}
        >
          {texts.grant}
        </Button>
      </div>
      <ul class="admin-grants">
        {grants.map(grant => (
          <li key={JSON.stringify(grant)}>
            <span class="grow">
              {roleWord(grant.role)} <span class="muted">{whereText(grant)}</span>
            </span>
            <Button size="small" kind="quiet" onClick={() => revoke(grant)}>
              {texts.revoke}
            </Button>
          </li>
        ))}
        {grants.length === 0 && <li class="muted">{texts.nothingGranted}</li>}
      </ul>
      {granting && (
        <FormDialog
          title={`${texts.grant}: ${name}`}
          action={texts.grant}
          onClose={() => setGranting(false)}
          submit={async () => {
            await post(path, grantBody(draft));
            reload();
            return null;
          }}
        >
          <GrantFields draft={draft} onChange={setDraft} />
        </FormDialog>
      )}
    </section>
  );
}
