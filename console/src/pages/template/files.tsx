/** The files that were made from the template, and whether what was released is what would be released now. */
import type { Template } from '../../business/api';
import { FileTable } from '../../business/files';
import { paths } from '../../url/paths';
import { t } from './strings';

export function FilesTab({ business, template }: { business: number; template: Template }) {
  const words = t();
  return (
    <div class="stack">
      <div class="line">
        <span class="muted grow">{words.filesText}</span>
        <a
          class="button button-small"
          href={paths.businessView(business, 'release', { templates: String(template.id) })}
        >
          <span class="button-text">{words.release}</span>
        </a>
      </div>
      <FileTable business={business} filter={{}} templates={[template.id]} turn={template.updated_at} />
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
