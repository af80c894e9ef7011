/** The files that were made from the template, and whether what is on the hosts is what was released. */
import { useState } from 'preact/hooks';
import { useData } from '../../api/use-data';
import { type Template, type TemplateFile, templateFiles } from '../../business/api';
import { FileList, fileKey } from '../../business/files';
import { Button } from '../../components/button';
import { Select } from '../../components/select';
import { Loaded } from '../../components/states';
import { count } from '../../i18n/format';
import { sentence } from '../../i18n/reasons';
import { paths } from '../../url/paths';
import type { SetState } from '../../url/state';
import type { TemplateState } from './page';
import { t } from './strings';

const PAGE = 100;

interface FilesTabProps {
  business: number;
  template: Template;
  state: TemplateState;
  set: SetState<TemplateState>;
}

export function FilesTab({ business, template, state, set }: FilesTabProps) {
  const words = t();
  const [start, setStart] = useState(0);
  const query = { drift: state.drift, start, limit: PAGE };
  const answer = useData(`files ${business} ${template.id} ${state.drift} ${start} ${template.updated_at}`, signal =>
    templateFiles(business, template.id, query, signal),
  );
  const choose = (drift: string) => {
    setStart(0);
    set({ drift });
  };
  const bound = template.bindings.processes;
  return (
    <div class="stack">
      <div class="line">
        <Select
          label={words.onHosts}
          value={state.drift}
          onChange={choose}
          choices={[
            { value: '', label: words.allFiles },
            { value: 'true', label: words.onlyDrift },
            { value: 'false', label: words.noDrift },
          ]}
        />
        <span class="muted grow">{words.filesText}</span>
        <a
          class="button button-small"
          href={paths.businessView(business, 'release', { id: bound.slice(0, 200).join(',') })}
        >
          <span class="button-text">{words.release}</span>
        </a>
      </div>
      <Loaded {...answer}>
        {page => (
          <>
            <FileList
              business={business}
              files={page.files.map(file => ({ ...file, template: template.id }))}
              active={template.active}
              drift={new Map(page.files.map(file => [fileKey(file), driftOf(file)]))}
            />
            {page.count > PAGE && (
              <div class="line">
                <Button
                  size="small"
                  blocked={start === 0 ? words.firstPage : null}
                  onClick={() => setStart(start - PAGE)}
                >
                  {words.previous}
                </Button>
                <span class="muted">
                  {words.pageOf(count(start + 1), count(start + page.files.length), count(page.count))}
                </span>
                <Button
                  size="small"
                  blocked={start + PAGE >= page.count ? words.lastPage : null}
                  onClick={() => setStart(start + PAGE)}
                >
                  {words.next}
                </Button>
              </div>
            )}
          </>
        )}
      </Loaded>
    </div>
  );
}

function driftOf(file: TemplateFile): { tone: 'good' | 'warn' | 'idle'; text: string } {
  const words = t();
  if (file.drift === null)
    return {
      tone: 'idle',
      text: words.driftUnknown(sentence(file.drift_reason, words.unknownWhy(file.drift_reason?.code ?? ''))),
    };
  if (!file.drift) return { tone: 'good', text: words.noDrift };
  return { tone: 'warn', text: sentence(file.drift_reason, file.drift_text.replace(/^config drift: /, '')) };
}
