/** What the sections share: a list with a drawer, forms in dialogs, secrets that are shown once. */
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { call } from '../../api/client';
import { Button } from '../../components/button';
import { Confirm } from '../../components/confirm';
import { CopyButton } from '../../components/copy-button';
import { Dialog } from '../../components/dialog';
import { Drawer } from '../../components/drawer';
import '../../components/field.css';
import type { IconName } from '../../components/icon';
import { Empty, errorText } from '../../components/states';
import { Ago } from '../../components/time';
import { useSubmit } from '../../components/use-submit';
import { useTyping } from '../../components/use-typing';
import { t as common } from '../../i18n/common';
import type { Rows } from '../../table/rows';
import { type Column, Table } from '../../table/table';
import { useRows } from '../../table/use-rows';
import { codec, text } from '../../url/codec';
import { useUrlState } from '../../url/state';
import { t } from './strings';

const listState = codec<{ q: string; open: string }>({ q: text(), open: text() });

interface WholeListProps<T> {
  section: 'users' | 'apps' | 'tokens' | 'webhooks';
  icon: IconName;
  load: (signal: AbortSignal) => Promise<T[]>;
  keyOf: (row: T) => string;
  /** Where the find field looks. */
  textOf: (row: T) => string;
  columns: Column<T>[];
  drawer: (row: T, reload: () => void, close: () => void) => ComponentChildren;
  form: (reload: () => void, close: () => void) => ComponentChildren;
}

/** A list that comes in one answer. */
export function WholeList<T>(props: WholeListProps<T>) {
  const [state, set] = useUrlState(listState);
  const [creating, setCreating] = useState(false);
  const [typed, type] = useTyping(state.q, q => set({ q }));
  const words = t();
  const rows: Rows<T> = useRows<T>(`${props.section} ${state.q}`, props.keyOf, async (start, limit, signal) => {
    const wanted = state.q.toLowerCase();
    const all = (await props.load(signal)).filter(row => props.textOf(row).toLowerCase().includes(wanted));
    return { count: all.length, rows: all.slice(start, start + limit) };
  });
  void rows.version.value;
  const place = state.open ? rows.indexOf(state.open) : undefined;
  const opened = place === undefined ? undefined : rows.row(place);
  const reload = () => rows.reload();
  return (
    <>
      <div class="list-head">
        <input
          class="input input-small list-find"
          type="search"
          placeholder={words.find}
          aria-label={words.find}
          value={typed}
          onInput={event => type(event.currentTarget.value)}
        />
        <span class="grow" />
        <Button kind="primary" size="small" icon="plus" onClick={() => setCreating(true)}>
          {words.create[props.section]}
        </Button>
      </div>
      <div class="list-body">
        <Table
          rows={rows}
          columns={props.columns}
          label={words.sections[props.section]}
          rowName={props.keyOf}
          opened={state.open}
          onOpen={row => set({ open: props.keyOf(row) }, state.open ? 'replace' : 'push')}
          empty={<Empty icon={props.icon} title={state.q ? words.nothing : words.none[props.section]} />}
        />
        {opened !== undefined && (
          <Drawer subject={state.open} title={state.open} onClose={() => set({ open: '' })}>
            <div class="stack">{props.drawer(opened, reload, () => set({ open: '' }))}</div>
          </Drawer>
        )}
      </div>
      {creating && props.form(reload, () => setCreating(false))}
    </>
  );
}

export const createdColumn = <T extends { created_at: number }>(rank: number): Column<T> => ({
  key: 'created',
  title: t().created,
  width: 100,
  rank,
  align: 'right',
  cell: row => <Ago at={row.created_at} />,
});

interface FormDialogProps {
  title: string;
  action: string;
  /** Answers what is to be shown once, or nothing. */
  submit: () => Promise<ComponentChildren>;
  onClose: () => void;
  children: ComponentChildren;
}

/** A form; after it, a secret that is shown once, if the answer has one. */
export function FormDialog({ title, action, submit, onClose, children }: FormDialogProps) {
  const id = useId();
  const [shown, setShown] = useState<ComponentChildren>(null);
  const { busy, error, send } = useSubmit(submit, secret => (secret ? setShown(secret) : onClose()));
  if (shown)
    return (
      <Dialog
        title={title}
        onClose={onClose}
        stays
        footer={
          <Button kind="primary" onClick={onClose}>
            {t().done}
          </Button>
        }
      >
        <div class="stack">
          <p class="note note-warn">{t().secretOnce}</p>
          {shown}
        </div>
      </Dialog>
    );
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        class="admin-form"
        id={id}
        onSubmit={event => {
          event.preventDefault();
          void send();
        }}
      >
        {children}
        {error && (
          <p class="note note-bad" role="alert">
            {errorText(error)}
          </p>
        )}
        <div class="line">
          <span class="grow" />
          <Button onClick={onClose}>{common().cancel}</Button>
          <Button type="submit" kind="primary" busy={busy}>
            {action}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

export function Secret({ label, value }: { label: string; value: string }) {
  return (
    <div class="field">
      <span class="field-label">{label}</span>
      <div class="admin-secret">
        <code class="code-block">{value}</code>
        <CopyButton text={value}>{t().copySecret}</CopyButton>
      </div>
    </div>
  );
}

interface TextFieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  hint?: string;
  type?: 'text' | 'password' | 'number' | 'url';
  required?: boolean;
  autofocus?: boolean;
}

export function TextField({ label, value, onChange, hint, type = 'text', required, autofocus }: TextFieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        class="input"
        type={type}
        value={value}
        required={required}
        autofocus={autofocus}
        autocomplete={type === 'password' ? 'new-password' : 'off'}
        aria-describedby={hint ? `${id}-hint` : undefined}
        onInput={event => onChange(event.currentTarget.value)}
      />
      {hint && (
        <span class="admin-hint" id={`${id}-hint`}>
          {hint}
        </span>
      )}
    </div>
  );
}

export function Check({ label, on, onChange }: { label: string; on: boolean; onChange: (on: boolean) => void }) {
  return (
    <label class="admin-check">
      <input type="checkbox" checked={on} onChange={event => onChange(event.currentTarget.checked)} />
      {label}
    </label>
  );
}

interface RemoveProps {
  what: string;
  text: string;
  blocked?: string | null;
  /** What is deleted in the API. */
  path: string;
  onRemoved: () => void;
}

export function Remove({ what, text: consequence, blocked, path, onRemoved }: RemoveProps) {
  const run = () => call('DELETE', path).then(onRemoved);
  const [asking, setAsking] = useState(false);
  return (
    <div class="line">
      <Button kind="danger" size="small" blocked={blocked} onClick={() => setAsking(true)}>
        {t().remove}
      </Button>
      {asking && (
        <Confirm danger title={t().removeTitle(what)} action={t().remove} run={run} onClose={() => setAsking(false)}>
          {consequence}
        </Confirm>
      )}
    </div>
  );
}

/** Words of a field with commas. */
export const words = (field: string) =>
  field
    .split(/[,，\s]+/)
    .map(word => word.trim())
    .filter(word => word !== '');
