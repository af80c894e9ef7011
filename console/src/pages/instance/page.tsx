/** One process on one host: why it is as it is, its output, its figures, its spec. */
import { useRoute } from 'preact-iso';
import { process as loadProcess, processes } from '../../api/calls';
import type { Process } from '../../api/types';
import { useData } from '../../api/use-data';
import { readRange, writeRange } from '../../chart/zoom';
import { Icon } from '../../components/icon';
import { StateBadge } from '../../components/state-badge';
import { Empty, Loaded } from '../../components/states';
import { Tabs } from '../../components/tabs';
import type { StatusChange } from '../../live/changes';
import { useLive } from '../../live/live';
import { LogView } from '../../logs/log-view';
import { ProcessActions } from '../../process/actions';
import { applyStatus } from '../../process/change';
import { ProcessFacts } from '../../process/facts';
import { SpecView } from '../../process/spec';
import { t as words } from '../../process/strings';
import { LastOutput, TimelineList, WhySentence } from '../../process/why';
import { useTitle } from '../../shell/title';
import { choice, codec, text } from '../../url/codec';
import { paths } from '../../url/paths';
import { useUrlState } from '../../url/state';
import { FiguresGlance, FiguresView } from './figures';
import './instance.css';
import { t } from './strings';

const TABS = ['why', 'logs', 'figures', 'spec'] as const;
const pageState = codec<{ tab: (typeof TABS)[number]; zoom: string }>({ tab: choice(TABS, 'why'), zoom: text() });

export default function InstancePage() {
  const { params } = useRoute();
  const process = `${params.namespace}/${params.name}`;
  const host = params.host ?? '';
  const [{ tab, zoom }, set] = useUrlState(pageState);
  const key = `${process}@${host}`;
  useTitle(key);
  const answer = useData(key, signal => processes({ process: [process], host: [host] }, { limit: 1 }, signal));
  useLive({ kinds: ['status'], subjects: [key] }, changes => {
    const last = changes[changes.length - 1] as StatusChange | undefined;
    if (last) answer.patch(page => ({ ...page, processes: page.processes.map(row => applyStatus(row, last)) }));
  });
  useLive({ kinds: ['registration', 'agent'], prefix: `${process}@`, subjects: [host] }, answer.reload);

  return (
    <div class={`page ${tab === 'logs' ? 'page-logs' : ''}`}>
      <nav class="crumbs" aria-label={t().processes}>
        <a href={paths.processes()}>{t().processes}</a>
        <Icon name="right" size={12} />
        <a href={paths.processes({ ns: params.namespace })}>{params.namespace}</a>
        <Icon name="right" size={12} />
        <a href={paths.process(process)}>{params.name}</a>
      </nav>
      <Loaded {...answer} lines={8}>
        {page => {
          const row = page.processes[0];
          if (!row)
            return (
              <Empty
                whole
                icon="processes"
                title={t().notHere}
                action={<a href={paths.process(process)}>{t().allHosts}</a>}
              >
                {t().notHereText}
              </Empty>
            );
          return (
            <>
              <div class="page-head">
                <h1>
                  {process} <span class="muted">@ {row.hostname ?? host}</span>
                </h1>
                <StateBadge state={row.state} was={row.was} />
                <span class="grow" />
                <ProcessActions row={row} />
              </div>
              <Tabs
                label={t().views}
                active={tab}
                tabs={TABS.map(one => ({
                  key: one,
                  label: t().tabs[one],
                  href: paths.instance(process, host, one === 'why' ? {} : { tab: one }),
                }))}
              />
              {tab === 'why' && <WhyTab process={process} host={host} row={row} />}
              {tab === 'logs' && <LogView key={key} process={process} host={host} />}
              {tab === 'figures' && (
                <FiguresView
                  process={process}
                  host={host}
                  zoom={readRange(zoom)}
                  onZoom={range => set({ zoom: writeRange(range) })}
                />
              )}
              {tab === 'spec' && <SpecTab process={process} definition={row.definition} />}
            </>
          );
        }}
      </Loaded>
    </div>
  );
}

function WhyTab({ process, host, row }: { process: string; host: string; row: Process }) {
  const detail = useData(`spec ${process} ${row.definition}`, signal => loadProcess(process, { limit: 1 }, signal));
  const definition = detail.data?.definitions.find(one => one.id === row.definition);
  return (
    <div class="stack">
      <WhySentence process={process} host={host} row={row} />
      <div class="instance-columns">
        <section class="stack-tight">
          <h2 class="minor">{words().timeline}</h2>
          <TimelineList process={process} host={host} />
        </section>
        <div class="stack">
          <LastOutput process={process} host={host} row={row} lines={40} />
          <section class="card card-body">
            <ProcessFacts row={row} version={definition?.spec_version} />
          </section>
          {row.connected && <FiguresGlance process={process} host={host} />}
        </div>
      </div>
    </div>
  );
}

function SpecTab({ process, definition }: { process: string; definition: number }) {
  const answer = useData(`spec ${process} ${definition}`, signal => loadProcess(process, { limit: 1 }, signal));
  return (
    <Loaded {...answer} lines={10}>
      {detail => {
        const found = detail.definitions.find(one => one.id === definition) ?? detail.definitions[0];
        return found ? <SpecView definition={found} /> : null;
      }}
    </Loaded>
  );
}
