/** How many processes were in each state over the last day. */
import { useState } from 'preact/hooks';
import { get } from '../../api/client';
import type { StateFigures } from '../../api/types';
import { useData } from '../../api/use-data';
import { Chart, ChartTable, ZoomBar } from '../../chart/chart';
import { fitted, type Range } from '../../chart/zoom';
import { clock, count } from '../../i18n/format';
import { linesOf } from './state-lines';
import { t } from './strings';

export function StatesChart() {
  const words = t();
  const answer = useData('state figures', signal => get<StateFigures>('/figures/states', {}, signal));
  const [hidden, setHidden] = useState<string[]>([]);
  const [zoom, setZoom] = useState<Range | null>(null);
  const [hover, setHover] = useState<number | null>(null);
  const figures = answer.data;
  if (!figures) return null;
  const all = linesOf(figures.states);
  const span = {
    until: figures.until,
    stepSecs: figures.step_secs,
    length: Math.max(0, ...Object.values(figures.states).map(values => values.length)),
  };
  // A line needs two points: a server that has just started has one.
  if (!all.some(line => line.values.filter(value => value !== null).length > 1)) return null;
  const range = fitted(zoom, span);
  const lines = all.filter(line => !hidden.includes(line.state));
  const index = hover ?? span.length - 1;
  return (
    <section class="card">
      <div class="card-head">
        <h2 class="grow">{words.lastDay}</h2>
        <ZoomBar span={span} zoom={range} onZoom={setZoom} />
      </div>
      <div class="card-body stack-tight">
        <div class="chart-legend" role="group" aria-label={words.shownStates}>
          {all.map(line => {
            const value = line.values[index];
            const on = !hidden.includes(line.state);
            return (
              <button
                key={line.state}
                type="button"
                aria-pressed={on}
                onClick={() => setHidden(on ? [...hidden, line.state] : hidden.filter(one => one !== line.state))}
              >
                <span class={`chart-key tone-${line.tone} ${line.dashed ? 'is-dashed' : ''}`} />
                {line.label} {value !== null && value !== undefined && count(value)}
              </button>
            );
          })}
          <span class="muted grow number">
            {hover !== null && clock(span.until - (span.length - 1 - hover) * span.stepSecs * 1000)}
          </span>
        </div>
        <Chart
          label={`${words.lastDay}: ${lines.map(line => `${line.label} ${count(line.values[span.length - 1] ?? 0)}`).join(', ')}`}
          lines={lines}
          span={span}
          zoom={range}
          onZoom={next => setZoom(fitted(next, span))}
          onHover={setHover}
          height={160}
        />
        <ChartTable lines={lines} span={span} zoom={range} label={words.lastDay} />
      </div>
    </section>
  );
}
