import { CopyButton } from '../../components/copy-button';
import { Drawer } from '../../components/drawer';
import '../../components/field.css';
import { ProgressBadge } from '../../components/state-badge';
import { duration } from '../../i18n/format';
import { sentence } from '../../i18n/reasons';
import { AnsiLines } from '../../logs/ansi-lines';
import { paths } from '../../url/paths';
import { DiffLines } from './diff-lines';
import { exitText, gateText } from './result-columns';
import type { ResultRow } from './source';
import { t } from './strings';

export function ResultDrawer({ row, onClose }: { row: ResultRow; onClose: () => void }) {
  const words = t();
  const exit = exitText(row);
  return (
    <Drawer subject={row.key} title={row.process} onClose={onClose}>
      <div class="stack">
        <div class="line">
          <ProgressBadge state={row.status} />
          <a href={row.process.includes('/') ? paths.instance(row.process, row.host) : paths.host(row.host)}>
            {row.host}
          </a>
        </div>
        {row.message && (
          <p class={`note ${row.status === 'failed' ? 'note-bad' : ''}`}>{sentence(row.reason, row.message)}</p>
        )}
        {row.gateSince !== null && <p class="note">{gateText(row)}</p>}
        <dl class="facts">
          {row.expression && (
            <>
              <dt>{words.instance}</dt>
              <dd>{row.expression}</dd>
            </>
          )}
          {row.code !== 0 && row.status === 'failed' && (
            <>
              <dt>{words.columns.status}</dt>
              <dd>{words.code(row.code)}</dd>
            </>
          )}
          {exit && (
            <>
              <dt>{words.columns.exit}</dt>
              <dd>{exit}</dd>
            </>
          )}
          {row.tookMs !== null && (
            <>
              <dt>{words.columns.took}</dt>
              <dd>{row.tookMs < 1000 ? `${row.tookMs} ms` : duration(row.tookMs)}</dd>
            </>
          )}
        </dl>
        {row.solutions.length > 0 && (
          <section class="stack-tight">
            <h3>{words.solutions}</h3>
            <ul>
              {row.solutions.map(solution => (
                <li key={solution}>{solution}</li>
              ))}
            </ul>
          </section>
        )}
        {row.command && (
          <section class="stack-tight">
            <div class="line">
              <h3 class="grow">{words.command}</h3>
              <CopyButton text={row.command} />
            </div>
            <pre class="code-block">{row.command}</pre>
          </section>
        )}
        <section class="stack-tight">
          <h3>{row.op === 'diff' ? words.diff : words.output}</h3>
          {row.op === 'diff' && row.status !== 'failed' ? (
            <DiffLines text={row.output} />
          ) : row.output.trim() ? (
            <AnsiLines lines={row.output.replace(/\n$/, '').split('\n')} label={words.output} />
          ) : (
            <p class="muted">{words.noOutput}</p>
          )}
        </section>
      </div>
    </Drawer>
  );
}
