/** The files that were made from the template, and whether what was released is what would be released now. */
import { useData } from '../../api/use-data';
import type { Template } from '../../business/api';
import { FileList, loadFiles } from '../../business/files';
import { Loaded } from '../../components/states';
import { paths } from '../../url/paths';
import type { SetState } from '../../url/state';
import type { TemplateState } from './page';
import { t } from './strings';

/** A request for each process. */
const MOST = 60;

interface FilesTabProps {
  business: number;
  template: Template;
  state: TemplateState;
  set: SetState<TemplateState>;
}

export function FilesTab({ business, template }: FilesTabProps) {
  const words = t();
  const bound = template.bindings.processes;
  const answer = useData(`files ${business} ${template.id} ${bound.join()}`, signal =>
    loadFiles(business, bound.slice(0, MOST), [template.id], signal),
  );
  return (
    <div class="stack">
      <div class="line">
        <span class="muted grow">{bound.length > MOST ? words.firstFiles(MOST) : words.filesText}</span>
        <a
          class="button button-small"
          href={paths.businessView(business, 'release', { id: bound.slice(0, 200).join(',') })}
        >
          <span class="button-text">{words.release}</span>
        </a>
      </div>
      <Loaded {...answer}>{files => <FileList business={business} files={files} active={template.active} />}</Loaded>
    </div>
  );
}
