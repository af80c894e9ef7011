/** In the head of a filtered list: rows that came or went, the panel of counts, the link, the columns. */
import type { Facets } from '../api/types';
import type { Data } from '../api/use-data';
import { Button } from '../components/button';
import { CopyButton } from '../components/copy-button';
import { t } from '../i18n/common';
import { count } from '../i18n/format';
import { ColumnsMenu } from '../table/columns-menu';
import type { Rows } from '../table/rows';
import type { Column } from '../table/table';

interface ListToolsProps<Row, Line> {
  facets: Data<Facets>;
  rows: Rows<Row>;
  moved: number;
  /** Whether the panel is open where there is no room for it beside the list. */
  panel: boolean;
  onPanel: (open: boolean) => void;
  words: { panel: string; copyLink: string };
  columns: Column<Line>[];
  chosen: string[];
  onChoose: (columns: string[]) => void;
}

export function ListTools<Row, Line>(props: ListToolsProps<Row, Line>) {
  const { facets, rows, moved, panel, onPanel, words } = props;
  return (
    <>
      {/* Every few seconds, not each change. */}
      <span class="visually-hidden" role="status">
        {facets.data && t().table.rows(facets.data.count, count(facets.data.count))}
      </span>
      {moved > 0 && (
        <Button
          size="small"
          icon="reload"
          onClick={() => {
            rows.reload();
            facets.reload();
          }}
        >
          {t().table.moved(count(moved))}
        </Button>
      )}
      <span class="grow" />
      <Button class="facets-button" size="small" icon="filter" pressed={panel} onClick={() => onPanel(!panel)}>
        {words.panel}
      </Button>
      <CopyButton text={location.href} label={words.copyLink} />
      <ColumnsMenu columns={props.columns} chosen={props.chosen} onChoose={props.onChoose} />
    </>
  );
}
