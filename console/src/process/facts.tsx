/** The figures and settings of one process on one host. */
import { Fragment } from 'preact';
import type { Process } from '../api/types';
import { Ago, Since, Time } from '../components/time';
import '../components/field.css';
import { t as common } from '../i18n/common';
import { count, decimal, hostText } from '../i18n/format';
import { paths } from '../url/paths';
import { exitWords } from './exit';
import { Labels } from './labels';
import { t } from './strings';

interface ProcessFactsProps {
  row: Process;
  /** The number of its version, where it is known. */
  version?: number | null | undefined;
}

export function ProcessFacts({ row, version }: ProcessFactsProps) {
  const words = t();
  const checks = [
    [words.health, row.health],
    [words.readyProbe, row.probes?.ready],
    [words.liveProbe, row.probes?.live],
  ] as const;
  const yes = (value: boolean) => (value ? common().yes : common().no);
  return (
    <dl class="facts">
      <dt>{words.host}</dt>
      <dd>
        <a href={paths.host(row.host)}>
          {row.hostname ? `${row.hostname} · ${hostText(row.host)}` : hostText(row.host)}
        </a>
      </dd>
      <dt>{words.agent}</dt>
      <dd class={row.connected ? '' : 'tone-warn'}>{row.connected ? words.connected : words.away}</dd>
      <dt>{words.wanted}</dt>
      <dd>
        {row.flag === 'running' ? words.running : row.flag === 'stopped' ? words.stopped : row.flag}
        {' · '}
        {words.managed}: {yes(row.managed)}
      </dd>
      {row.pid !== null && row.pid !== undefined && (
        <>
          <dt>{words.pid}</dt>
          <dd>
            {row.pid}
            {row.started_at > 0 && (
              <>
                {' · '}
                <Since at={row.started_at} long />
              </>
            )}
          </dd>
          <dt>{words.cpu}</dt>
          <dd>
            {decimal(row.cpu)} % · {words.mem} {decimal(row.mem)} %
          </dd>
        </>
      )}
      <dt>{words.restarts}</dt>
      <dd>{count(row.restarts)}</dd>
      <dt>{words.lastExit}</dt>
      <dd>
        {row.last_exit ? (
          <>
            {exitWords(row.last_exit)} · <Ago at={row.last_exit.at} />
          </>
        ) : (
          <span class="muted">{words.noExit}</span>
        )}
      </dd>
      {row.next_at ? (
        <>
          <dt>{words.nextAt}</dt>
          <dd>
            <Time at={row.next_at} />
          </dd>
        </>
      ) : null}
      {checks.map(
        ([name, result]) =>
          result && (
            <Fragment key={name}>
              <dt>{name}</dt>
              <dd class={result.ok ? '' : 'tone-warn'}>{result.ok ? words.healthy : result.message}</dd>
            </Fragment>
          ),
      )}
      {version && (
        <>
          <dt>{words.definition}</dt>
          <dd>
            <a href={paths.process(`${row.namespace}/${row.name}`, { tab: 'history' })}>{words.specVersion(version)}</a>
          </dd>
        </>
      )}
      {row.version && (
        <>
          <dt>{words.version}</dt>
          <dd>{row.version}</dd>
        </>
      )}
      {Object.keys(row.labels ?? {}).length > 0 && (
        <>
          <dt>{words.labels}</dt>
          <dd>
            <Labels labels={row.labels} />
          </dd>
        </>
      )}
      <dt>{words.registered}</dt>
      <dd>
        <Time at={row.registered_at} />
      </dd>
    </dl>
  );
}
