/** The files that were made from the template, and whether what is on the hosts is what was released. */
import { useState } from 'preact/hooks';
import { type BusinessFile, type Template, type TemplateFile, templateFiles } from '../../business/api';
import { FileRows, keyOfFile } from '../../business/files';
import { Icon } from '../../components/icon';
import { Select } from '../../components/select';
import { sentence } from '../../i18n/reasons';
import { useRows } from '../../table/use-rows';
import { paths } from '../../url/paths';
import type { SetState } from '../../url/state';
import type { TemplateState } from './page';
import { t } from './strings';

type Row = BusinessFile & TemplateFile;

interface FilesTabProps {
  business: number;
  template: Template;
  state: TemplateState;
  set: SetState<TemplateState>;
}

export function FilesTab({ business, template, state, set }: FilesTabProps) {
  const words = t();
  const [open, setOpen] = useState<Row | null>(null);
  const key = `files ${business} ${template.id} ${state.drift} ${template.updated_at}`;
  const rows = useRows<Row>(key, keyOfFile, async (start, limit, signal) => {
    const page = await templateFiles(business, template.id, { drift: state.drift, start, limit }, signal);
    const row = (file: TemplateFile): Row => ({ ...file, template: template.id, name: file.expression });
    return { count: page.count, rows: page.files.map(row) };
  });
  return (
    <div class="stack">
      <div class="line">
        <Select
          label={words.onHosts}
          value={state.drift}
          onChange={drift => {
            setOpen(null);
            set({ drift });
          }}
          choices={[
            { value: '', label: words.allFiles },
            { value: 'true', label: words.onlyDrift },
            { value: 'false', label: words.noDrift },
          ]}
        />
        <span class="muted grow">{words.filesText}</span>
        <a
          class="button button-small"
          href={paths.businessView(business, 'release', { templates: String(template.id) })}
        >
          <span class="button-text">{words.release}</span>
        </a>
      </div>
      <FileRows
        business={business}
        rows={rows}
        open={open}
        onOpen={setOpen}
        empty={state.drift ? words.noFiles : words.noneYet}
        more={[
          {
            key: 'drift',
            title: words.onHosts,
            width: 150,
            grow: 2,
            rank: 1,
            cell: file => <Drift file={file} />,
          },
        ]}
      />
    </div>
  );
}

const LOOKS = { good: 'tick', warn: 'warning', idle: 'question' } as const;

function Drift({ file }: { file: TemplateFile }) {
  const { tone, text } = driftOf(file);
  return (
    <span class={`state tone-${tone}`} title={text}>
      <Icon name={LOOKS[tone]} size={13} />
      <span class="ellipsis">{text}</span>
    </span>
  );
}

function driftOf(file: TemplateFile): { tone: keyof typeof LOOKS; text: string } {
  const words = t();
  if (file.drift === null)
    return {
      tone: 'idle',
      text: words.driftUnknown(sentence(file.drift_reason, words.unknownWhy(file.drift_reason?.code ?? ''))),
    };
  if (!file.drift) return { tone: 'good', text: words.asReleased };
  return { tone: 'warn', text: sentence(file.drift_reason, file.drift_text.replace(/^config drift: /, '')) };
}
