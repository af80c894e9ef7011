import { useMemo, useState } from 'preact/hooks';
import { call, get, post } from '../../api/client';
import type { components } from '../../api/schema';
import { Button } from '../../components/button';
import { Confirm } from '../../components/confirm';
import { ProgressBadge } from '../../components/state-badge';
import { Empty } from '../../components/states';
import { count } from '../../i18n/format';
import { language } from '../../i18n/i18n';
import { type Column, Table } from '../../table/table';
import { useRows } from '../../table/use-rows';
import { t } from './strings';

type Replica = components['schemas']['ReplicaRow'];
type Answer = components['schemas']['ReplicaList'];

const columns = (): Column<Replica>[] => {
  const words = t().replicas;
  return [
    {
      key: 'state',
      title: words.state,
      width: 120,
      rank: 0,
      cell: row => (
        <ProgressBadge state={row.draining ? 'paused' : 'ok'} text={row.draining ? words.draining : words.serving} />
      ),
    },
    { key: 'address', title: words.address, width: 150, grow: 2, rank: 0, cell: row => row.address },
    {
      key: 'marks',
      title: words.notes,
      width: 150,
      grow: 1,
      rank: 2,
      cell: row => [row.this ? words.this : '', row.leads ? words.leads : ''].filter(Boolean).join(' · '),
    },
    { key: 'agents', title: words.agents, width: 90, rank: 1, align: 'right', cell: row => count(row.agents) },
    { key: 'id', title: words.id, width: 150, grow: 1, rank: 3, cell: row => <code>{row.id}</code> },
  ];
};

export function Replicas() {
  const words = t().replicas;
  const [answer, setAnswer] = useState<Answer | null>(null);
  const [asking, setAsking] = useState(false);
  const rows = useRows<Replica>(
    'replicas',
    row => row.id,
    async (start, limit, signal) => {
      const got = await get<Answer>('/replicas', {}, signal);
      setAnswer(got);
      return { count: got.replicas.length, rows: got.replicas.slice(start, start + limit) };
    },
  );
  const own = answer?.replicas.find(row => row.this);
  const alone = (answer?.replicas.length ?? 0) < 2;
  const change = async (method: 'POST' | 'DELETE') => {
    await (method === 'POST' ? post('/drain') : call('DELETE', '/drain'));
    rows.reload();
  };
  return (
    <>
      <div class="list-head">
        <span class="grow muted">{own && `${words.this}: ${own.address}`}</span>
        {own?.draining ? (
          <Button size="small" icon="start" onClick={() => void change('DELETE').catch(() => rows.reload())}>
            {words.undrain}
          </Button>
        ) : (
          <Button size="small" icon="logout" blocked={alone ? words.alone : null} onClick={() => setAsking(true)}>
            {words.drain}
          </Button>
        )}
      </div>
      {answer && (!answer.bus_up || !answer.store_up) && (
        <div class="admin-notes">
          {!answer.store_up && <p class="note note-bad">{words.storeDown}</p>}
          {!answer.bus_up && !alone && <p class="note note-warn">{words.busDown}</p>}
        </div>
      )}
      <Table
        rows={rows}
        columns={useMemo(columns, [language.value])}
        label={t().sections.replicas}
        rowName={row => row.address}
        empty={<Empty icon="hosts" title={t().none.replicas} />}
      />
      {asking && (
        <Confirm
          title={words.drainTitle}
          action={words.drain}
          run={() => change('POST')}
          onClose={() => setAsking(false)}
        >
          {words.drainText}
        </Confirm>
      )}
    </>
  );
}
