/** What the process used in the last hour: charts that zoom together, and sparklines for a small place. */
import { useEffect, useState } from 'preact/hooks';
import { get } from '../../api/client';
import { ApiError } from '../../api/errors';
import type { Figures } from '../../api/types';
import { useData } from '../../api/use-data';
import { Chart, ChartTable, ZoomBar } from '../../chart/chart';
import { t as chartWords } from '../../chart/strings';
import { fitted, type Range } from '../../chart/zoom';
import { Sparkline } from '../../components/sparkline';
import { Empty, ErrorBox, Skeleton } from '../../components/states';
import { count, decimal, timeOfDay } from '../../i18n/format';
import { paths } from '../../url/paths';
import { t } from './strings';

interface Place {
  process: string;
  host: string;
}

/** Charts show what has come since as often as this, in ms. */
const AGAIN = 30_000;

const useFigures = ({ process, host }: Place) =>
  useData(`figures ${process} ${host}`, signal => get<Figures>(`/processes/${process}/figures`, { host }, signal));

const FIGURES = [
  { key: 'cpu', colour: '--accent', write: decimal },
  { key: 'mem', colour: '--plan', write: decimal },
  { key: 'fd', colour: '--info', write: count },
] as const;

const isEmpty = ({ cpu, mem, fd }: Figures) => [...cpu, ...mem, ...fd].every(value => value === null);

function summary(values: (number | null)[], write: (n: number) => string): string {
  const known = values.filter(value => value !== null);
  const last = known[known.length - 1];
  return last === undefined ? '' : `${t().now(write(last))} · ${t().most(write(Math.max(...known)))}`;
}

export function FiguresView({ process, host, zoom, onZoom }: Place & { zoom: Range | null; onZoom: SetRange }) {
  const words = t();
  const answer = useFigures({ process, host });
  const [hover, setHover] = useState<number | null>(null);
  useEffect(() => {
    const timer = setInterval(() => document.visibilityState === 'visible' && answer.reload(), AGAIN);
    return () => clearInterval(timer);
  }, []);
  const figures = answer.data;
  if (answer.error instanceof ApiError && answer.error.status === 404)
    return <Empty icon="operations" title={words.noFigures} />;
  if (answer.error && !figures) return <ErrorBox error={answer.error} retry={answer.reload} />;
  if (!figures) return <Skeleton lines={8} />;
  if (isEmpty(figures)) return <Empty icon="operations" title={words.noFigures} />;
  const span = { until: figures.until, stepSecs: figures.step_secs, length: figures.cpu.length };
  const range = fitted(zoom, span);
  const lines = FIGURES.map(one => ({ ...one, label: words[one.key], values: figures[one.key] as (number | null)[] }));
  const at = (index: number) => span.until - (span.length - 1 - index) * span.stepSecs * 1000;
  return (
    <div class="stack">
      {answer.error && <ErrorBox error={answer.error} retry={answer.reload} />}
      <div class="line">
        <h2 class="grow">{words.lastHour}</h2>
        <ZoomBar span={span} zoom={range} onZoom={onZoom} />
      </div>
      <div class="figures">
        {lines.map(line => {
          const under = hover === null ? null : line.values[hover];
          const said = summary(line.values, line.write);
          return (
            <section key={line.key} class="card card-body stack-tight">
              <div class="line chart-words">
                <h3 class="grow">{line.label}</h3>
                <span class="muted">
                  {hover === null || under === null || under === undefined
                    ? said
                    : `${timeOfDay(at(hover))} · ${line.write(under)}`}
                </span>
              </div>
              <Chart
                label={`${line.label}: ${said}`}
                lines={[line]}
                span={span}
                zoom={range}
                onZoom={next => onZoom(fitted(next, span))}
                onHover={setHover}
              />
            </section>
          );
        })}
      </div>
      <p class="muted figure-span">{chartWords().hint}</p>
      <ChartTable lines={lines} span={span} zoom={range} label={words.lastHour} />
    </div>
  );
}

type SetRange = (range: Range | null) => void;

/** Beside other facts: cpu and memory as sparklines, where the agent has figures. */
export function FiguresGlance({ process, host }: Place) {
  const words = t();
  const { data } = useFigures({ process, host });
  if (!data || isEmpty(data)) return null;
  return (
    <section class="card card-body stack-tight">
      <div class="line">
        <h2 class="minor grow">{words.lastHour}</h2>
        <a href={paths.instance(process, host, { tab: 'figures' })}>{words.tabs.figures}</a>
      </div>
      <div class="figures-glance">
        {FIGURES.slice(0, 2).map(({ key, write }) => {
          const said = summary(data[key] as (number | null)[], write);
          return (
            <div key={key} class="stack-tight">
              <Sparkline values={data[key] as (number | null)[]} label={`${words[key]}: ${said}`} />
              <span class="muted figure-span">
                {words[key]}: {said}
              </span>
            </div>
          );
        })}
      </div>
    </section>
  );
}
