/** Config files of instances: what was generated beside what was released. */
import { useState } from 'preact/hooks';
import { useData } from '../api/use-data';
import { Icon } from '../components/icon';
import { Empty, Loaded } from '../components/states';
import { Ago } from '../components/time';
import { DiffView } from '../editor/diff-view';
import { paths } from '../url/paths';
import { type ConfigFile, configFile, configFiles } from './api';
import './business.css';
import { t } from './file-strings';

/** Six at a time, because a browser has no more connections. */
export async function loadFiles(
  business: number,
  processes: number[],
  templates: number[],
  signal: AbortSignal,
): Promise<ConfigFile[]> {
  const found: ConfigFile[] = [];
  for (let start = 0; start < processes.length; start += 4) {
    const part = processes.slice(start, start + 4).map(id => configFiles(business, id, signal));
    for (const { files } of await Promise.all(part)) found.push(...files);
  }
  return templates.length === 0 ? found : found.filter(file => templates.includes(file.template));
}

export type FileState = 'same' | 'changed' | 'new' | 'missing';

export function stateOfFile(file: ConfigFile): FileState {
  if (!file.generated) return 'missing';
  if (!file.released) return 'new';
  return file.generated.md5 === file.released.md5 && file.generated.path === file.released.path ? 'same' : 'changed';
}

const LOOKS = {
  same: { tone: 'good', icon: 'tick' },
  changed: { tone: 'warn', icon: 'half' },
  new: { tone: 'info', icon: 'plus' },
  missing: { tone: 'idle', icon: 'question' },
} as const;

const DRIFT_ICONS = { good: 'tick', warn: 'warning', idle: 'question' } as const;

interface FileListProps {
  business: number;
  files: ConfigFile[];
  /** The version that would be generated from. */
  active?: number | null;
  /** What is known of the file on the host, by process and instance. */
  onHost?: Map<string, string>;
  /** Whether the file on the host differs from what was released, in words, by process and instance. */
  drift?: Map<string, { tone: 'good' | 'warn' | 'idle'; text: string }>;
}

export const fileKey = (file: Pick<ConfigFile, 'process' | 'local_inst_id'>) => `${file.process}/${file.local_inst_id}`;

export function FileList({ business, files, active, onHost, drift }: FileListProps) {
  const words = t();
  const [open, setOpen] = useState('');
  if (files.length === 0) return <Empty icon="templates" title={words.none} />;
  return (
    <ul class="card file-list">
      {files.slice(0, 300).map(file => {
        const key = `${fileKey(file)}/${file.template}`;
        const state = stateOfFile(file);
        const shown = file.generated ?? file.released;
        const host = onHost?.get(fileKey(file));
        const differs = drift?.get(fileKey(file));
        return (
          <li key={key}>
            <div class="file-row">
              <button
                type="button"
                class="file-open"
                aria-expanded={open === key}
                onClick={() => setOpen(open === key ? '' : key)}
              >
                <Icon name={open === key ? 'down' : 'right'} size={12} />
                <code>{shown?.path ?? key}</code>
              </button>
              <span class={`state tone-${LOOKS[state].tone}`}>
                <Icon name={LOOKS[state].icon} size={13} /> {words.states[state]}
              </span>
              {differs && (
                <span class={`state tone-${differs.tone}`}>
                  <Icon name={DRIFT_ICONS[differs.tone]} size={13} /> {differs.text}
                </span>
              )}
              <span class="muted">
                <a href={paths.business(business, { open: file.process, id: file.process })}>
                  {words.of(file.process, file.local_inst_id)}
                </a>
                {file.generated && ` · ${words.generated(file.generated.version)}`}
                {active && file.generated && file.generated.version !== active && ` (${words.older})`}
                {file.released && (
                  <>
                    {` · ${words.released(file.released.version)} `}
                    <Ago at={file.released.at} />
                  </>
                )}
              </span>
            </div>
            {host && <pre class="code-text file-host">{host}</pre>}
            {open === key && <FileDiff business={business} file={file} />}
          </li>
        );
      })}
    </ul>
  );
}

function FileDiff({ business, file }: { business: number; file: ConfigFile }) {
  const words = t();
  const answer = useData(`file ${business} ${fileKey(file)} ${file.template} ${file.generated?.md5}`, async signal => {
    const text = async (of: 'generated' | 'released') =>
      file[of] ? ((await configFile(business, file, of, signal)).content ?? '') : '';
    const [before, after] = await Promise.all([text('released'), text('generated')]);
    return { before, after: file.generated ? after : before };
  });
  return (
    <div class="file-diff">
      <Loaded {...answer}>{texts => <DiffView {...texts} label={words.difference} />}</Loaded>
    </div>
  );
}
