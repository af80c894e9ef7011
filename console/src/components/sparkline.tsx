/** A small line of figures over time. Gaps stay gaps. The exact values are in the words. */
import './sparkline.css';

interface SparklineProps {
  values: (number | null)[];
  label: string;
  width?: number;
  height?: number;
  /** The top of the scale; the largest value if not given. */
  most?: number;
}

/** Separate lines of points, broken where a value is missing. */
export function segments(values: (number | null)[], width: number, height: number, most?: number): string[] {
  const top = Math.max(most ?? 0, ...values.map(value => value ?? 0), 1e-9);
  const step = values.length > 1 ? width / (values.length - 1) : 0;
  const lines: string[] = [];
  let line = '';
  values.forEach((value, index) => {
    if (value === null) {
      if (line) lines.push(line);
      line = '';
      return;
    }
    const x = (index * step).toFixed(1);
    const y = (height - 1 - (value / top) * (height - 2)).toFixed(1);
    line += `${line ? ' L' : 'M'}${x} ${y}`;
  });
  if (line) lines.push(line);
  return lines;
}

export function Sparkline({ values, label, width = 240, height = 36, most }: SparklineProps) {
  return (
    <svg class="sparkline" viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" role="img" aria-label={label}>
      {segments(values, width, height, most).map(path => (
        <path key={path} d={path} vector-effect="non-scaling-stroke" />
      ))}
    </svg>
  );
}
