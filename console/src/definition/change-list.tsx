/** The fields in which two definitions differ, with what they had and have. */
import type { FieldChange } from './changes';
import './definition.css';
import { t } from './strings';

export function ChangeList({ changes }: { changes: FieldChange[] }) {
  if (changes.length === 0) return <p class="muted">{t().same}</p>;
  return (
    <dl class="changes" aria-label={t().changed}>
      {changes.map(change => (
        <div key={change.field} class="change">
          <dt>{change.field}</dt>
          <dd>
            {change.before != null && (
              <del>
                <code>{change.before}</code>
              </del>
            )}
            {change.after != null && (
              <ins>
                <code>{change.after}</code>
              </ins>
            )}
          </dd>
        </div>
      ))}
    </dl>
  );
}
