/** One config template: its text with a preview beside, versions, bindings, files. */
import { useRoute } from 'preact-iso';
import { useData } from '../../api/use-data';
import { template as load, versions as loadVersions, type Template } from '../../business/api';
import { BusinessHead, useBusiness } from '../../business/head';
import '../../components/field.css';
import { ApiError } from '../../api/errors';
import { Empty, Loaded } from '../../components/states';
import { Tabs } from '../../components/tabs';
import { useLive } from '../../live/live';
import { useTitle } from '../../shell/title';
import { choice, codec, text } from '../../url/codec';
import { paths } from '../../url/paths';
import { useUrlState } from '../../url/state';
import { BindingsTab } from './bindings';
import { EditTab } from './edit';
import { FilesTab } from './files';
import { TemplateSettings } from './settings';
import { t } from './strings';
import './template.css';
import { VersionsTab } from './versions';

const TABS = ['edit', 'versions', 'bindings', 'files'] as const;

export interface TemplateState {
  tab: (typeof TABS)[number] | 'preview';
  v: string;
  against: string;
  process: string;
  inst: string;
  side: 'preview' | 'variables';
  /** Whether the editor shows what differs from the active version. */
  changes: 'on' | 'off';
  /** Of the files. */
  drift: string;
}

const pageState = codec<TemplateState>({
  tab: choice([...TABS, 'preview'], 'edit'),
  v: text(),
  against: text(),
  process: text(),
  inst: text(),
  side: choice(['preview', 'variables'], 'preview'),
  changes: choice(['on', 'off'], 'off'),
  drift: text(),
});

export default function TemplatePage() {
  const business = useBusiness();
  const id = useRoute().params.template ?? '';
  const [state, set] = useUrlState(pageState);
  const words = t();
  const answer = useData(`template ${business} ${id}`, signal => load(business, id, signal));
  const versions = useData(`versions ${business} ${id}`, signal => loadVersions(business, id, signal));
  const reload = () => {
    answer.reload();
    versions.reload();
  };
  useLive({ kinds: ['template'], subjects: [`${business}/${id}`] }, reload);
  const name = answer.data?.template_name ?? id;
  useTitle(name);
  if (answer.error instanceof ApiError && answer.error.status === 404)
    return (
      <Empty
        whole
        icon="templates"
        title={words.noSuch}
        action={<a href={paths.businessView(business, 'templates')}>{words.all}</a>}
      />
    );
  const tab = state.tab === 'preview' ? 'edit' : state.tab;
  return (
    <div class="page">
      <BusinessHead id={business} active="templates" title={name}>
        {answer.data && (
          <>
            <Tags template={answer.data} />
            <span class="grow" />
            <TemplateSettings business={business} template={answer.data} onChanged={reload} />
          </>
        )}
      </BusinessHead>
      <Loaded {...answer} lines={6}>
        {template => (
          <>
            <p class="muted template-path">
              <code>
                {template.abs_path}/{template.file_name}
              </code>{' '}
              · {template.owner}:{template.group} · {template.filemode} · {template.line_separator}
            </p>
            <Tabs
              label={words.views}
              active={tab}
              tabs={TABS.map(key => ({
                key,
                label: words.tabs[key],
                href: paths.template(business, template.id, {
                  ...(key === 'edit' ? {} : { tab: key }),
                  process: state.process,
                  inst: state.inst,
                }),
                ...(key === 'versions' ? { count: String(template.versions) } : {}),
              }))}
            />
            {tab === 'edit' && (
              <EditTab
                key={template.id}
                business={business}
                template={template}
                versions={versions.data?.versions ?? null}
                state={state}
                set={set}
                onSaved={reload}
              />
            )}
            {tab === 'versions' && (
              <Loaded {...versions}>
                {all => (
                  <VersionsTab
                    business={business}
                    template={template}
                    versions={all.versions}
                    state={state}
                    set={set}
                    onChanged={reload}
                  />
                )}
              </Loaded>
            )}
            {tab === 'bindings' && <BindingsTab business={business} template={template} onSaved={reload} />}
            {tab === 'files' && <FilesTab business={business} template={template} state={state} set={set} />}
          </>
        )}
      </Loaded>
    </div>
  );
}

function Tags({ template }: { template: Template }) {
  const words = t();
  return (
    <span class="line">
      {template.active !== null ? (
        <span class="chip tone-good">{words.active(template.active)}</span>
      ) : (
        <span class="chip tone-warn">{words.notActive}</span>
      )}
      {template.draft !== null && <span class="chip tone-info">{words.draft(template.draft)}</span>}
    </span>
  );
}
