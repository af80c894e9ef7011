/** Users, apps, join tokens, webhooks, audit, replicas: for administrators. */
import { useRoute } from 'preact-iso';
import { may } from '../../api/session';
import '../../components/list-page.css';
import { Empty } from '../../components/states';
import { Tabs } from '../../components/tabs';
import { NotFound } from '../../shell/not-found';
import { useTitle } from '../../shell/title';
import { paths } from '../../url/paths';
import './admin.css';
import { Apps } from './apps';
import { Audit } from './audit';
import { Replicas } from './replicas';
import { t } from './strings';
import { Tokens } from './tokens';
import { Users } from './users';
import { Webhooks } from './webhooks';

const SECTIONS = { users: Users, apps: Apps, tokens: Tokens, webhooks: Webhooks, audit: Audit, replicas: Replicas };
type Section = keyof typeof SECTIONS;

export default function AdminPage() {
  const { params } = useRoute();
  const section = (params.section ?? 'users') as Section;
  const words = t();
  useTitle(`${words.title}: ${words.sections[section] ?? ''}`);
  const Shown = SECTIONS[section];
  if (!Shown) return <NotFound />;
  if (!may('admin'))
    return (
      <Empty whole icon="admin" title={words.roleMissing}>
        {words.roleMissingText}
      </Empty>
    );
  return (
    <div class="list-page">
      <div class="admin-top">
        <h1>{words.title}</h1>
        <Tabs
          label={words.title}
          active={section}
          tabs={(Object.keys(SECTIONS) as Section[]).map(key => ({
            key,
            label: words.sections[key],
            href: paths.admin(key),
          }))}
        />
      </div>
      <Shown key={section} />
    </div>
  );
}
