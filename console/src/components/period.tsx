/** From when on: one of the usual spans, or a moment that the address names. */
import { t } from '../i18n/common';
import { dateTime } from '../i18n/format';
import { Select } from './select';

const SPANS = ['15m', '1h', '24h', '7d', '30d'] as const;

const UNITS: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The moment that `since` of the API means: milliseconds, or as long ago as 90s, 15m, 1h, 7d. Null: none. */
export function momentOf(text: string, now: number): number | null {
  if (/^\d+$/.test(text)) return Number(text);
  const span = /^(\d+)([smhd])$/.exec(text);
  return span ? now - Number(span[1]) * (UNITS[span[2] ?? ''] ?? 0) : null;
}

interface PeriodProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
}

export function Period({ label, value, onChange }: PeriodProps) {
  const words = t().period;
  return (
    <Select
      label={label}
      value={value}
      choices={[
        { value: '', label: words.any },
        ...SPANS.map(span => ({ value: span, label: words[span] })),
        ...(/^\d+$/.test(value) ? [{ value, label: words.from(dateTime(Number(value))) }] : []),
      ]}
      onChange={onChange}
    />
  );
}
