/** Figures over time as lines that can be zoomed, and as a table of what is shown. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { Button } from '../components/button';
import { ErrorBox } from '../components/states';
import { clock, dateTime } from '../i18n/format';
import { language } from '../i18n/i18n';
import { theme } from '../theme/theme';
import { useMedia } from '../theme/use-media';
import './chart.css';
import { t } from './strings';
import type { ChartHandle, Line } from './uplot';
import { buckets, moved, type Range, type Span, scaled, whole } from './zoom';

export type { Line } from './uplot';

interface ChartProps {
  /** What it shows in words, for those who do not see it. */
  label: string;
  lines: Line[];
  span: Span;
  zoom: Range | null;
  onZoom: (range: Range | null) => void;
  onHover: (index: number | null) => void;
  height?: number;
}

export function Chart({ label, lines, span, zoom, onZoom, onHover, height = 150 }: ChartProps) {
  const host = useRef<HTMLDivElement>(null);
  const [handle, setHandle] = useState<ChartHandle | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const latest = useRef({ onZoom, onHover });
  latest.current = { onZoom, onHover };
  const dark = useMedia('(prefers-color-scheme: dark)');
  const shown = lines.map(line => line.label).join('\n');
  useEffect(() => {
    let made: ChartHandle | null = null;
    let gone = false;
    import('./uplot').then(
      (module: typeof import('./uplot') | undefined) => {
        if (!module || gone || !host.current) return;
        made = module.mountChart(host.current, {
          lines,
          span,
          height,
          onZoom: range => latest.current.onZoom(range),
          onHover: index => latest.current.onHover(index),
        });
        setHandle(made);
      },
      (failed: Error) => setError(failed),
    );
    return () => {
      gone = true;
      made?.destroy();
      setHandle(null);
    };
  }, [span.until, span.length, shown, height, theme.value, dark, language.value]);
  useEffect(() => handle?.zoom(zoom), [handle, zoom?.from, zoom?.to]);
  if (error) return <ErrorBox error={error} />;
  return (
    <div class="chart" role="img" aria-label={label} aria-busy={handle === null} style={{ height: `${height}px` }}>
      <div ref={host} />
    </div>
  );
}

/** By keyboard what dragging does by pointer. */
export function ZoomBar({
  span,
  zoom,
  onZoom,
}: {
  span: Span;
  zoom: Range | null;
  onZoom: (range: Range | null) => void;
}) {
  const words = t();
  const range = zoom ?? whole(span);
  const closer = scaled(zoom, span, 0.5);
  const closest = closer !== null && zoom !== null && closer.to - closer.from >= zoom.to - zoom.from;
  const all = zoom === null ? words.allShown : null;
  const seconds = range.to - range.from < 600;
  return (
    <div class="line" role="group" aria-label={words.zoom}>
      <span class="muted">
        {clock(range.from * 1000, seconds)} – {clock(range.to * 1000, seconds)}
      </span>
      <Button
        size="small"
        icon="plus"
        label={words.zoomIn}
        blocked={closest ? words.closest : null}
        onClick={() => onZoom(closer)}
      />
      <Button
        size="small"
        icon="minus"
        label={words.zoomOut}
        blocked={all}
        onClick={() => onZoom(scaled(zoom, span, 2))}
      />
      <Button
        size="small"
        icon="left"
        label={words.earlier}
        blocked={all}
        onClick={() => onZoom(moved(zoom, span, -0.5))}
      />
      <Button
        size="small"
        icon="right"
        label={words.later}
        blocked={all}
        onClick={() => onZoom(moved(zoom, span, 0.5))}
      />
      <Button size="small" blocked={all} onClick={() => onZoom(null)}>
        {words.all}
      </Button>
    </div>
  );
}

/** What the charts show, in at most sixty rows: the largest value of each part. */
export function ChartTable({
  lines,
  span,
  zoom,
  label,
}: {
  lines: (Line & { write: (value: number) => string })[];
  span: Span;
  zoom: Range | null;
  label: string;
}) {
  const words = t();
  const [open, setOpen] = useState(false);
  return (
    <details class="chart-more" open={open} onToggle={event => setOpen(event.currentTarget.open)}>
      <summary>{words.asTable}</summary>
      {open && (
        <section class="chart-table" tabIndex={0} aria-label={label}>
          <table>
            <thead>
              <tr>
                <th scope="col">{words.time}</th>
                {lines.map(line => (
                  <th key={line.label} scope="col">
                    {line.label}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {buckets(
                lines.map(line => line.values),
                zoom,
                span,
                60,
              ).map(row => (
                <tr key={row.at}>
                  <th scope="row">{dateTime(row.at)}</th>
                  {row.most.map((value, index) => (
                    <td key={lines[index]?.label}>
                      {value === null ? <span class="muted">{words.missing}</span> : lines[index]?.write(value)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </details>
  );
}
