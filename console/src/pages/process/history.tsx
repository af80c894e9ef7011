/** The versions of a process: who changed what, which hosts have each, and the way back. */
import { useState } from 'preact/hooks';
import { lazy, useLocation } from 'preact-iso';
import { versions as loadVersions } from '../../api/calls';
import type { ProcessVersion } from '../../api/types';
import { useData } from '../../api/use-data';
import { Button } from '../../components/button';
import { Empty, Loaded } from '../../components/states';
import { Ago } from '../../components/time';
import { ChangeList } from '../../definition/change-list';
import { changesOf, type Definition } from '../../definition/changes';
import { count } from '../../i18n/format';
import { useLive } from '../../live/live';
import { t as processWords } from '../../process/strings';
import { paths } from '../../url/paths';
import { t } from './strings';

const UpdateDialog = lazy(() => import('../../definition/update-dialog'));

const definitionOf = (version: ProcessVersion): Definition => ({
  spec: version.spec as Record<string, unknown>,
  labels: version.labels,
});

interface HistoryProps {
  process: string;
  /** Why this user may not change it. */
  blocked: string | null;
}

export function History({ process, blocked }: HistoryProps) {
  const answer = useData(`versions ${process}`, signal => loadVersions(process, signal));
  useLive({ kinds: ['registration'], prefix: `${process}@` }, answer.reload);
  const [asked, setAsked] = useState<ProcessVersion | null>(null);
  return (
    <Loaded {...answer} lines={6}>
      {({ versions }) => {
        if (versions.length === 0) return <Empty icon="operations" title={t().noVersions} />;
        const held = versions.filter(one => one.hosts > 0).sort((a, b) => b.hosts - a.hosts);
        const now = held[0] ?? versions[0];
        return (
          <>
            <ul class="operation-list">
              {versions.map(version => (
                <Version
                  key={version.number}
                  process={process}
                  version={version}
                  blocked={blocked ?? (held.length === 1 && held[0] === version ? t().hasIt : null)}
                  editBlocked={blocked}
                  onRollBack={() => setAsked(version)}
                />
              ))}
            </ul>
            {asked && now && (
              <UpdateDialog
                update={{ process, version: asked.number }}
                changes={changesOf(definitionOf(now), definitionOf(asked))}
                differ={held.length > 1}
                onClose={() => setAsked(null)}
              />
            )}
          </>
        );
      }}
    </Loaded>
  );
}

interface VersionProps {
  process: string;
  version: ProcessVersion;
  blocked: string | null;
  editBlocked: string | null;
  onRollBack: () => void;
}

function Version({ process, version, blocked, editBlocked, onRollBack }: VersionProps) {
  const { route } = useLocation();
  const words = t();
  return (
    <li class="stack-tight">
      <div class="line version-line">
        <strong>{processWords().specVersion(version.number)}</strong>
        <span>
          {words.sources[version.source as keyof typeof words.sources] ?? version.source}
          {version.restores && ` ${words.restores(version.restores)}`}
          {version.job_id && (
            <>
              {', '}
              <a href={paths.job(version.job_id)}>{words.job(version.job_id)}</a>
            </>
          )}
        </span>
        {version.hosts > 0 && <span class="tone-good">{words.onHosts(version.hosts, count(version.hosts))}</span>}
        <span class="muted grow">{version.user || version.app}</span>
        <span class="muted">{version.at > 0 && <Ago at={version.at} />}</span>
        <Button
          size="small"
          kind="quiet"
          icon="edit"
          label={words.editFrom}
          blocked={editBlocked}
          onClick={() => route(paths.definition(process, { from: version.number }))}
        />
        <Button size="small" icon="left" blocked={blocked} onClick={onRollBack}>
          {words.rollBack}
        </Button>
      </div>
      {version.changes.length > 0 && <ChangeList changes={version.changes} />}
    </li>
  );
}
