/** The topology of a business: what an import would change, the import, the export, reading it again. */
import { useId, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { may } from '../../api/session';
import { useData } from '../../api/use-data';
import {
  businesses,
  type Difference,
  importTopology,
  refreshTopology,
  type Trouble,
  topology,
} from '../../business/api';
import { BusinessHead, useBusiness } from '../../business/head';
import { t as shared } from '../../business/strings';
import { Button } from '../../components/button';
import { CopyButton } from '../../components/copy-button';
import { Dialog } from '../../components/dialog';
import '../../components/field.css';
import { Icon } from '../../components/icon';
import { ErrorBox } from '../../components/states';
import { Ago } from '../../components/time';
import { toast } from '../../components/toast';
import { t as common, reasonWord } from '../../i18n/common';
import { count } from '../../i18n/format';
import { sentence } from '../../i18n/reasons';
import { useTitle } from '../../shell/title';
import { paths } from '../../url/paths';
import type { TopologyDocument } from './document';
import { byKind, type Mark } from './lines';
import { t } from './strings';
import './topology.css';

interface Tried {
  document: TopologyDocument;
  difference: Difference;
}

const changes = (one: Difference) => one.lines.length + one.more_lines;
const removals = (one: Difference) => one.processes.gone + one.vanished;

export default function TopologyPage() {
  const id = useBusiness();
  const words = t();
  useTitle(words.title);
  return (
    <div class="page">
      {id > 0 ? (
        <BusinessHead id={id} active="topology" title={words.title} />
      ) : (
        <div class="stack">
          <nav class="crumbs" aria-label={shared().businesses}>
            <a href={paths.businesses()}>{shared().businesses}</a>
          </nav>
          <div class="page-head">
            <h1>{shared().importOne}</h1>
          </div>
        </div>
      )}
      {id > 0 && <Present id={id} />}
      <Import id={id} />
    </div>
  );
}

/** Where it comes from, what was left out, export and refresh. */
function Present({ id }: { id: number }) {
  const words = t();
  const answer = useData('businesses', businesses);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const business = answer.data?.businesses.find(one => one.id === id);
  const troubles = business?.troubles ?? [];
  const refresh = () => {
    setBusy(true);
    setError(null);
    refreshTopology(id)
      .then(
        difference => {
          toast(() => words.refreshed(changes(difference), count(changes(difference))), 'good');
          answer.reload();
        },
        (failed: Error) => setError(failed),
      )
      .finally(() => setBusy(false));
  };
  const download = async () => {
    try {
      const text = `${JSON.stringify(await topology(id), null, 2)}\n`;
      const link = document.createElement('a');
      link.href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
      link.download = `${business?.name || id}.json`;
      link.click();
      URL.revokeObjectURL(link.href);
    } catch (failed) {
      setError(failed as Error);
    }
  };
  return (
    <section class="card">
      <div class="card-head">
        <h2 class="grow">{words.present}</h2>
        <CopyButton text={async () => JSON.stringify(await topology(id), null, 2)}>{common().copy}</CopyButton>
        <Button size="small" icon="download" onClick={download}>
          {words.export}
        </Button>
        <Button
          size="small"
          icon="reload"
          busy={busy}
          blocked={!may('operator', { business: id, namespace: `GSEKIT_BIZ_${id}` }) ? reasonWord('role') : null}
          onClick={refresh}
        >
          {words.refresh}
        </Button>
      </div>
      <div class="card-body stack">
        {error && <ErrorBox error={error} />}
        {business && (
          <dl class="facts">
            <dt>{words.origin}</dt>
            <dd>
              {business.origin === 'cmdb' ? words.cmdb : words.given} · <Ago at={business.refreshed_at} />
            </dd>
            <dt>{words.size}</dt>
            <dd>{words.sizes(count(business.sets), count(business.modules), count(business.processes))}</dd>
          </dl>
        )}
        {troubles.length > 0 && <Troubles title={words.leftOut} troubles={troubles} />}
      </div>
    </section>
  );
}

function Troubles({ title, troubles }: { title: string; troubles: Trouble[] }) {
  return (
    <div class="note note-warn">
      <p class="line">
        <Icon name="warning" size={14} /> <strong>{title}</strong>
      </p>
      <ul>
        {troubles.slice(0, 50).map((one, index) => (
          <li key={index}>
            <code>{one.row}</code>: {sentence({ code: one.code ?? '', params: one.params ?? {} }, one.reason)}
          </li>
        ))}
      </ul>
    </div>
  );
}

function Import({ id }: { id: number }) {
  const words = t();
  const { route } = useLocation();
  const [text, setText] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const [tried, setTried] = useState<Tried[] | null>(null);
  const [asking, setAsking] = useState(false);
  const file = useRef<HTMLInputElement>(null);
  const field = useId();
  const allowed = may('operator');

  const change = (next: string) => {
    setText(next);
    setTried(null);
    setError(null);
  };

  const tryIt = async () => {
    setBusy(true);
    setError(null);
    setTried(null);
    try {
      const { readTopology } = await import('./document');
      let read: TopologyDocument[];
      try {
        read = readTopology(text);
      } catch (failed) {
        throw new Error(`${words.unreadable} ${(failed as Error).message}`);
      }
      // Of several businesses in a file this page is about one.
      const documents = id > 0 ? read.filter(one => one.bk_biz_id === id) : read;
      if (documents.length === 0) throw new Error(words.otherBusiness(read.map(one => one.bk_biz_id).join(', ')));
      const found: Tried[] = [];
      for (const document of documents)
        found.push({ document, difference: await importTopology(document.bk_biz_id, document, true) });
      setTried(found);
    } catch (failed) {
      setError(failed as Error);
    }
    setBusy(false);
  };

  const apply = async () => {
    if (!tried) return;
    setAsking(false);
    setBusy(true);
    setError(null);
    try {
      let total = 0;
      for (const { document } of tried) total += changes(await importTopology(document.bk_biz_id, document, false));
      toast(() => words.imported(total, count(total)), 'good');
      const [only] = tried;
      route(tried.length === 1 && only ? paths.business(only.document.bk_biz_id) : paths.businesses());
    } catch (failed) {
      setError(failed as Error);
      setBusy(false);
    }
  };

  const all = tried?.reduce((sum, one) => sum + changes(one.difference), 0) ?? 0;
  const gone = tried?.reduce((sum, one) => sum + removals(one.difference), 0) ?? 0;

  return (
    <section class="card">
      <div class="card-head">
        <h2 class="grow">{words.import}</h2>
        <input
          ref={file}
          type="file"
          class="visually-hidden"
          tabIndex={-1}
          aria-hidden="true"
          accept=".yaml,.yml,.json"
          onChange={async event => {
            const chosen = event.currentTarget.files?.[0];
            if (chosen) change(await chosen.text());
          }}
        />
        <Button size="small" onClick={() => file.current?.click()}>
          {words.chooseFile}
        </Button>
      </div>
      <div class="card-body stack">
        <div class="field">
          <label for={field}>{words.text}</label>
          <textarea
            id={field}
            class="input topology-text"
            rows={12}
            spellcheck={false}
            value={text}
            placeholder={'bk_biz_id: 2\nbk_biz_name: game\nsets: […]'}
            onInput={event => change(event.currentTarget.value)}
          />
        </div>
        <div class="line">
          <Button
            icon="search"
            kind={tried ? 'plain' : 'primary'}
            busy={busy}
            blocked={!allowed ? reasonWord('role') : text.trim() === '' ? words.noText : null}
            onClick={tryIt}
          >
            {words.dryRun}
          </Button>
          <span class="muted">{words.dryRunText}</span>
        </div>
        {error && <ErrorBox title={words.refused} error={error} />}
        {tried?.map(one => (
          <DifferenceTree key={one.document.bk_biz_id} {...one} />
        ))}
        {tried && (
          <div class="line">
            <Button
              kind={gone > 0 ? 'danger' : 'primary'}
              busy={busy}
              blocked={all === 0 ? words.nothing : null}
              onClick={() => (gone > 0 ? setAsking(true) : void apply())}
            >
              {words.apply(count(all))}
            </Button>
            {gone > 0 && <span class="tone-warn">{words.removes(gone, count(gone))}</span>}
          </div>
        )}
      </div>
      {asking && (
        <Dialog
          title={words.removes(gone, count(gone))}
          onClose={() => setAsking(false)}
          footer={
            <>
              <Button autofocus onClick={() => setAsking(false)}>
                {common().cancel}
              </Button>
              <Button kind="danger" onClick={apply}>
                {words.apply(count(all))}
              </Button>
            </>
          }
        >
          <p>{words.removesText}</p>
        </Dialog>
      )}
    </section>
  );
}

const TONES: Record<Mark, string> = { '+': 'good', '~': 'info', '-': 'bad', '!': 'warn' };

function DifferenceTree({ document, difference }: Tried) {
  const words = t();
  const groups = byKind(difference);
  return (
    <section
      class="difference stack-tight"
      aria-label={words.changesOf(document.bk_biz_name || String(document.bk_biz_id))}
    >
      <h3 class="difference-name">
        {document.bk_biz_name || document.bk_biz_id} <span class="muted">{document.bk_biz_id}</span>
      </h3>
      {groups.length === 0 && <p class="muted">{words.nothing}</p>}
      {groups.map(({ kind, lines }) => (
        <details key={kind} open={lines.length <= 200}>
          <summary>
            {words.kinds[kind]}{' '}
            {(['+', '~', '-', '!'] as const).map(mark => {
              const n = lines.filter(line => line.mark === mark).length;
              return n === 0 ? null : (
                <span key={mark} class={`difference-count tone-${TONES[mark]}`}>
                  {mark}
                  {count(n)}
                </span>
              );
            })}
          </summary>
          <ul class="difference-lines">
            {lines.map((line, index) => (
              <li key={index} class={`tone-${TONES[line.mark]}`}>
                <span class="difference-mark" title={words.marks[line.mark]}>
                  {line.mark}
                  <span class="visually-hidden"> {words.marks[line.mark]}</span>
                </span>
                <span class="difference-text">{line.text}</span>
              </li>
            ))}
          </ul>
        </details>
      ))}
      {difference.more_lines > 0 && <p class="muted">{words.moreLines(count(difference.more_lines))}</p>}
      {difference.troubles.length > 0 && <Troubles title={words.willLeaveOut} troubles={difference.troubles} />}
    </section>
  );
}
