import { Menu } from '../components/menu';
import { t } from '../i18n/common';
import type { Column } from './table';

interface ColumnsMenuProps<T> {
  columns: Column<T>[];
  chosen: string[];
  onChoose: (keys: string[]) => void;
}

export function ColumnsMenu<T>({ columns, chosen, onChoose }: ColumnsMenuProps<T>) {
  const shown = chosen.length > 0 ? chosen : columns.filter(column => !column.extra).map(column => column.key);
  const items = columns
    .filter(column => column.rank > 0)
    .map(column => ({
      label: column.title,
      checked: shown.includes(column.key),
      keep: true,
      onSelect: () => {
        const next = shown.includes(column.key) ? shown.filter(key => key !== column.key) : [...shown, column.key];
        onChoose(columns.map(one => one.key).filter(key => next.includes(key)));
      },
    }));
  return (
    <Menu
      icon="columns"
      label={t().table.columns}
      kind="quiet"
      size="small"
      side="right"
      items={[...items, { label: t().table.defaults, icon: 'restart', section: '', onSelect: () => onChoose([]) }]}
    />
  );
}
