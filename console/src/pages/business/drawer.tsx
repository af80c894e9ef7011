/** The opened process, beside the list: its instances, its place, what can be done. */
import { useData } from '../../api/use-data';
import { type ViewProcess, view } from '../../business/api';
import { jobBlocked } from '../../business/blocked';
import { jobAction } from '../../business/jobs';
import { t as shared } from '../../business/strings';
import { Button } from '../../components/button';
import { CopyButton } from '../../components/copy-button';
import { Drawer } from '../../components/drawer';
import '../../components/field.css';
import { Menu } from '../../components/menu';
import { StateBadge } from '../../components/state-badge';
import { Empty, Loaded } from '../../components/states';
import { Since } from '../../components/time';
import { t as common, envWord, opWord } from '../../i18n/common';
import { decimal } from '../../i18n/format';
import { useLive } from '../../live/live';
import { askOperation } from '../../operate/host';
import { OPERATIONS } from '../../process/actions';
import { rowText } from '../../process/sentences';
import { paths } from '../../url/paths';
import { t } from './strings';
import { applyToView } from './use-view-rows';

export function ViewDrawer({ business, open, onClose }: { business: number; open: string; onClose: () => void }) {
  const answer = useData(`view ${business} ${open}`, signal => view(business, { id: [open] }, { limit: 1 }, signal));
  const row = answer.data?.processes[0];
  useLive(
    row ? { kinds: ['status'], subjects: row.instances.map(one => `${one.process}@${row.host}`) } : null,
    changes => {
      for (const change of changes)
        if (change.kind === 'status')
          answer.patch(page => ({ ...page, processes: page.processes.map(one => applyToView(one, change)) }));
    },
  );
  return (
    <Drawer subject={open} title={row?.name ?? open} onClose={onClose}>
      <Loaded {...answer} lines={8}>
        {page => {
          const found = page.processes[0];
          return found ? <Inside row={found} /> : <Empty icon="processes" title={t().gone} />;
        }}
      </Loaded>
    </Drawer>
  );
}

function Inside({ row }: { row: ViewProcess }) {
  const words = t();
  const dims = shared().dims;
  const ask = (op: (typeof OPERATIONS)[number]['op']) =>
    askOperation(op, {
      kind: 'job',
      name: row.name,
      business: row.business,
      filter: { id: [String(row.id)] },
      except: [],
      count: 1,
    });
  return (
    <div class="stack">
      {row.vanished && <p class="note note-warn">{shared().vanished}</p>}
      <div class="line">
        {OPERATIONS.filter(one => one.main).map(({ op, icon }) => (
          <Button key={op} size="small" icon={icon} blocked={jobBlocked(row, op)} onClick={() => ask(op)}>
            {opWord(jobAction(op))}
          </Button>
        ))}
        <Menu
          size="small"
          side="right"
          items={[
            ...OPERATIONS.filter(one => !one.main).map(({ op, icon }) => ({
              label: opWord(jobAction(op)),
              icon,
              blocked: jobBlocked(row, op),
              onSelect: () => ask(op),
            })),
            { label: words.release, href: paths.businessView(row.business, 'release', { id: row.id }) },
          ]}
        >
          {common().more}
        </Menu>
      </div>
      <section class="stack-tight">
        <h2 class="minor">{words.instances}</h2>
        <ul class="view-instances">
          {row.instances.map(one => (
            <li key={one.local_inst_id}>
              <div class="line">
                <StateBadge state={one.state} was={one.was} />
                <a href={paths.instance(one.process, row.host)}>{words.instance(one.local_inst_id)}</a>
                <span class="grow" />
                {one.pid && (
                  <span class="muted">
                    {words.pid(one.pid)} · {decimal(one.cpu)} % · <Since at={one.started_at} />
                  </span>
                )}
              </div>
              {one.message && <p class="view-message">{rowText(one)}</p>}
              <div class="line view-links">
                <a href={paths.instance(one.process, row.host, { tab: 'logs' })}>{words.output}</a>
                <a href={paths.instance(one.process, row.host)}>{words.why}</a>
              </div>
            </li>
          ))}
        </ul>
      </section>
      <dl class="facts view-facts">
        <dt>{dims.set}</dt>
        <dd>
          <a href={paths.business(row.business, { set: row.set.id })}>{row.set.name}</a>{' '}
          <span class="muted">{envWord(row.env)}</span>
        </dd>
        <dt>{dims.module}</dt>
        <dd>
          <a href={paths.business(row.business, { module: row.module.id })}>{row.module.name}</a>
        </dd>
        <dt>{dims.service}</dt>
        <dd>{row.service.name}</dd>
        <dt>{words.host}</dt>
        <dd>
          <a href={paths.host(row.host)}>{row.host}</a>
        </dd>
        <dt>{dims.id}</dt>
        <dd>{row.id}</dd>
        <dt>{words.priority}</dt>
        <dd>{row.priority ?? common().none}</dd>
        <dt>{dims.managed}</dt>
        <dd>{row.managed ? common().yes : common().no}</dd>
        <dt>{dims.expr}</dt>
        <dd>
          <code>{row.expression}</code> <CopyButton text={row.expression} />
        </dd>
        <dt>{shared().tabs.templates}</dt>
        <dd>
          {row.config_templates.length === 0 && <span class="muted">{common().none}</span>}
          {row.config_templates.map(one => (
            <div key={one.id}>
              <a href={paths.template(row.business, one.id, { tab: 'preview', process: row.id })}>{one.name}</a>
            </div>
          ))}
        </dd>
      </dl>
    </div>
  );
}
