/** uPlot: lines over time on a canvas. A chunk of its own, which `chart.tsx` loads when a page shows a chart. */
import UPlot from 'uplot';
import { clock, scaleNumber } from '../i18n/format';
import './uplot.css';
import { type Range, type Span, whole } from './zoom';

export interface Line {
  label: string;
  values: (number | null)[];
  /** A custom property of the theme, such as `--accent`. */
  colour: string;
  dashed?: boolean;
}

export interface ChartOptions {
  lines: Line[];
  span: Span;
  height: number;
  onZoom: (range: Range | null) => void;
  /** The index of the figure under the pointer. */
  onHover: (index: number | null) => void;
}

export interface ChartHandle {
  zoom(range: Range | null): void;
  destroy(): void;
}

/** A canvas knows no custom properties, so an element resolves them. */
function resolver(host: HTMLElement): (property: string) => string {
  const probe = host.appendChild(document.createElement('span'));
  return property => {
    probe.style.color = `var(${property})`;
    return getComputedStyle(probe).color;
  };
}

export function mountChart(host: HTMLElement, options: ChartOptions): ChartHandle {
  const { lines, span } = options;
  const { from } = whole(span);
  const times = Array.from({ length: span.length }, (_, index) => from + index * span.stepSecs);
  const colour = resolver(host);
  const font = `11px ${getComputedStyle(host).fontFamily}`;
  const axis = {
    font,
    stroke: colour('--muted'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line'), width: 1, size: 4 },
  };
  const plot = new UPlot(
    {
      width: Math.max(host.clientWidth, 50),
      height: options.height,
      legend: { show: false },
      padding: [8, 18, 0, 0],
      series: [
        {},
        ...lines.map(line => ({
          label: line.label,
          stroke: colour(line.colour),
          width: 1.5,
          ...(line.dashed ? { dash: [5, 4] } : {}),
          points: { show: false },
        })),
      ],
      scales: { x: { time: true }, y: { range: (_plot, _least, most) => [0, most > 0 ? most * 1.1 : 1] } },
      axes: [
        {
          ...axis,
          size: 26,
          space: 64,
          values: (_plot, ticks) => ticks.map(tick => clock(tick * 1000, (ticks[1] ?? tick) - (ticks[0] ?? 0) < 60)),
        },
        { ...axis, size: 52, values: (_plot, ticks) => ticks.map(scaleNumber) },
      ],
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false },
        bind: {
          dblclick: () => () => {
            options.onZoom(null);
            return null;
          },
        },
      },
      hooks: {
        setCursor: [self => options.onHover(self.cursor.idx ?? null)],
        setSelect: [
          self => {
            const { left, width } = self.select;
            if (width < 4) return;
            const range = { from: self.posToVal(left, 'x'), to: self.posToVal(left + width, 'x') };
            self.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
            options.onZoom(range);
          },
        ],
      },
    },
    [times, ...lines.map(line => line.values)] as UPlot.AlignedData,
    host,
  );
  const observer = new ResizeObserver(() => {
    const width = host.clientWidth;
    if (width > 0 && width !== plot.width) plot.setSize({ width, height: options.height });
  });
  observer.observe(host);
  return {
    zoom(range) {
      const { from: min, to: max } = range ?? whole(span);
      plot.setScale('x', { min, max });
    },
    destroy() {
      observer.disconnect();
      plot.destroy();
      host.replaceChildren();
    },
  };
}
