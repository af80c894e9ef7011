/** After an operation was accepted the page stays; a toast shows how far it is and links to it. */
import { signal } from '@preact/signals';
import { task } from '../api/calls';
import { get } from '../api/client';
import type { Accepted, JobRow } from '../api/types';
import { Bar } from '../components/state-bar';
import { toast } from '../components/toast';
import { opWord } from '../i18n/common';
import { count } from '../i18n/format';
import { subscribe } from '../live/live';
import { paths } from '../url/paths';
import { t } from './strings';

interface Progress {
  total: number;
  ok: number;
  failed: number;
  ended: boolean;
}

export function followAccepted(op: string, accepted: Accepted) {
  const progress = signal<Progress>({ total: accepted.targets, ok: 0, failed: 0, ended: false });
  const href = accepted.job_id !== undefined ? paths.job(accepted.job_id) : paths.task(accepted.task_id ?? '');
  const show = () => <ProgressToast op={op} href={href} progress={progress.value} />;
  const close = toast(show, 'info', 0);

  const update = (now: Progress) => {
    progress.value = now;
    if (!now.ended) return;
    stop();
    close();
    toast(show, now.failed > 0 ? 'bad' : 'good', now.failed > 0 ? 0 : 5000);
  };
  const interest =
    accepted.job_id !== undefined
      ? { kinds: ['job' as const], subjects: [String(accepted.job_id)] }
      : { kinds: ['task' as const], subjects: [accepted.task_id ?? ''] };
  const stop = subscribe(interest, changes => {
    for (const change of changes) {
      if (change.kind === 'task')
        update({
          total: change.total,
          ok: change.ok,
          failed: change.ended - change.ok,
          ended: change.state === 'finished',
        });
      else if (change.kind === 'job') update(jobProgress(change));
    }
  });
  // It may have ended before the stream said so.
  if (accepted.job_id !== undefined) {
    get<JobRow>(`/jobs/${accepted.job_id}`, { limit: 1 }).then(
      job => update(jobProgress(job)),
      () => {},
    );
  } else {
    task(accepted.task_id ?? '', { limit: 1 }).then(
      ({ counts, state }) =>
        update({ total: counts.total, ok: counts.ok, failed: counts.failed, ended: state === 'finished' }),
      () => {},
    );
  }
}

function jobProgress(job: { status: string; counts: Record<string, number> }): Progress {
  const { total = 0, succeeded = 0, failed = 0 } = job.counts;
  return { total, ok: succeeded, failed, ended: job.status === 'succeeded' || job.status === 'failed' };
}

function ProgressToast({ op, href, progress }: { op: string; href: string; progress: Progress }) {
  const { total, ok, failed } = progress;
  return (
    <div class="stack">
      <div>
        <strong>{t().started(opWord(op), `${count(ok + failed)} / ${count(total)}`)}</strong>
        {failed > 0 && <span class="tone-bad"> · {t().failedCount(count(failed))}</span>} ·{' '}
        <a href={href}>{t().open}</a>
      </div>
      <Bar
        label={opWord(op)}
        parts={[
          { key: 'ok', word: t().done, tone: 'good', count: ok },
          { key: 'failed', word: t().failedCount(''), tone: 'bad', count: failed },
          { key: 'rest', word: '', tone: 'idle', count: Math.max(0, total - ok - failed) },
        ]}
      />
    </div>
  );
}
