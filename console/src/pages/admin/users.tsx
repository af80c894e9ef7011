import { useMemo, useState } from 'preact/hooks';
import { get, post } from '../../api/client';
import type { components } from '../../api/schema';
import { me } from '../../api/session';
import { Button } from '../../components/button';
import { errorText } from '../../components/states';
import { Time } from '../../components/time';
import { toast } from '../../components/toast';
import { language } from '../../i18n/i18n';
import type { Column } from '../../table/table';
import { segment } from '../../url/codec';
import { GrantFields, Grants, grantBody, grantsColumn, grantsText, NEW_GRANT } from './grants';
import { createdColumn, FormDialog, Remove, Secret, TextField, WholeList } from './parts';
import { t } from './strings';

type User = components['schemas']['UserRow'];

const columns = (): Column<User>[] => [
  { key: 'name', title: t().users.name, width: 140, grow: 1, rank: 0, cell: row => row.name },
  grantsColumn(),
  createdColumn(2),
];

export function Users() {
  return (
    <WholeList<User>
      section="users"
      icon="user"
      load={async signal => (await get<{ users: User[] }>('/users', {}, signal)).users}
      keyOf={row => row.name}
      textOf={row => `${row.name} ${grantsText(row.grants)}`}
      columns={useMemo(columns, [language.value])}
      drawer={(row, reload, close) => <UserDrawer key={row.name} row={row} reload={reload} close={close} />}
      form={(reload, close) => <NewUser reload={reload} close={close} />}
    />
  );
}

function UserDrawer({ row, reload, close }: { row: User; reload: () => void; close: () => void }) {
  const words = t();
  const [link, setLink] = useState('');
  const makeLink = () =>
    post<{ path: string }>('/login/code', { user: row.name }).then(
      made => setLink(location.origin + made.path),
      (error: Error) => toast(() => `${words.refused}: ${errorText(error)}`, 'bad'),
    );
  return (
    <>
      <dl class="facts">
        <dt>{words.created}</dt>
        <dd>
          <Time at={row.created_at} />
        </dd>
      </dl>
      <Grants of="users" name={row.name} grants={row.grants} reload={reload} />
      <section class="stack-tight">
        <div class="line">
          <Button size="small" icon="link" onClick={makeLink}>
            {words.users.link}
          </Button>
          <span class="muted">{words.users.linkText(row.name)}</span>
        </div>
        {link && <Secret label={words.secretOnce} value={link} />}
      </section>
      <Remove
        what={row.name}
        text={words.users.removeText}
        blocked={me.value?.user?.name === row.name ? words.you : null}
        path={`/users/${segment(row.name)}`}
        onRemoved={() => {
          close();
          reload();
        }}
      />
    </>
  );
}

function NewUser({ reload, close }: { reload: () => void; close: () => void }) {
  const words = t();
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [grant, setGrant] = useState(NEW_GRANT);
  return (
    <FormDialog
      title={words.create.users}
      action={words.createButton}
      onClose={close}
      submit={async () => {
        await post('/users', { name: name.trim(), password, grants: [grantBody(grant)] });
        reload();
        return null;
      }}
    >
      <TextField label={words.users.name} value={name} onChange={setName} required autofocus />
      <TextField label={words.users.password} type="password" value={password} onChange={setPassword} required />
      <GrantFields draft={grant} onChange={setGrant} />
    </FormDialog>
  );
}
