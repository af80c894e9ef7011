/** The opened row, beside the list. */
import { processes } from '../../api/calls';
import { useData } from '../../api/use-data';
import { Drawer } from '../../components/drawer';
import { StateBadge } from '../../components/state-badge';
import { Empty, Loaded } from '../../components/states';
import type { StatusChange } from '../../live/changes';
import { useLive } from '../../live/live';
import { splitKey } from '../../operate/target';
import { ProcessActions } from '../../process/actions';
import { applyStatus } from '../../process/change';
import { ProcessFacts } from '../../process/facts';
import { LastOutput, WhySentence } from '../../process/why';
import { paths } from '../../url/paths';
import { t } from './strings';

export function ProcessDrawer({ open, onClose }: { open: string; onClose: () => void }) {
  const { process, host } = splitKey(open);
  const answer = useData(open, signal => processes({ process: [process], host: [host] }, { limit: 1 }, signal));
  useLive({ kinds: ['status'], subjects: [open] }, changes => {
    const last = changes[changes.length - 1] as StatusChange | undefined;
    if (last) answer.patch(page => ({ ...page, processes: page.processes.map(row => applyStatus(row, last)) }));
  });
  const words = t();
  return (
    <Drawer
      subject={open}
      title={<a href={paths.instance(process, host)}>{process}</a>}
      onClose={onClose}
      actions={
        <a class="button button-small" href={paths.instance(process, host)}>
          {words.fullPage}
        </a>
      }
    >
      <Loaded {...answer} lines={8}>
        {page => {
          const row = page.processes[0];
          if (!row) return <Empty icon="processes" title={words.gone} />;
          return (
            <div class="stack">
              <div class="line">
                <StateBadge state={row.state} was={row.was} />
                <span class="muted">{row.host}</span>
                <span class="grow" />
                <a href={paths.process(process)}>{words.allHosts}</a>
              </div>
              <WhySentence process={process} host={host} row={row} />
              <ProcessActions row={row} />
              <ProcessFacts row={row} />
              <LastOutput process={process} host={host} row={row} />
            </div>
          );
        }}
      </Loaded>
    </Drawer>
  );
}
