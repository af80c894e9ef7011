import { get } from '../../api/client';
import { ApiError } from '../../api/errors';
import type { Figures } from '../../api/types';
import { useData } from '../../api/use-data';
import { Sparkline } from '../../components/sparkline';
import { Empty, ErrorBox, Skeleton } from '../../components/states';
import { count, decimal } from '../../i18n/format';
import { t } from './strings';

export function FiguresView({ process, host }: { process: string; host: string }) {
  const answer = useData(`figures ${process} ${host}`, signal =>
    get<Figures>(`/processes/${process}/figures`, { host }, signal),
  );
  if (answer.error instanceof ApiError && answer.error.status === 404)
    return <Empty icon="operations" title={t().noFigures} />;
  if (answer.error) return <ErrorBox error={answer.error} retry={answer.reload} />;
  if (!answer.data) return <Skeleton lines={8} />;
  const { cpu, mem, fd } = answer.data;
  if ([...cpu, ...mem, ...fd].every(value => value === null)) return <Empty icon="operations" title={t().noFigures} />;
  return (
    <div class="figures">
      <Figure title={t().cpu} values={cpu} write={decimal} />
      <Figure title={t().mem} values={mem} write={decimal} />
      <Figure title={t().fd} values={fd} write={count} />
    </div>
  );
}

function Figure({ title, values, write }: { title: string; values: (number | null)[]; write: (n: number) => string }) {
  const known = values.filter((value): value is number => value !== null);
  const last = known[known.length - 1];
  const words = last === undefined ? '' : `${t().now(write(last))} · ${t().most(write(Math.max(...known)))}`;
  return (
    <section class="card card-body stack-tight">
      <div class="line">
        <h2 class="minor grow">{title}</h2>
        <span class="muted">{words}</span>
      </div>
      <Sparkline values={values} label={`${title}: ${words}`} height={60} />
      <p class="muted figure-span">{t().lastHour}</p>
    </section>
  );
}
