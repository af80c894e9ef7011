/** Name, place and owner of the files of a template. */
import { useId } from 'preact/hooks';
import '../components/field.css';
import type { TemplateBody } from './api';
import { t } from './template-strings';

export function TemplateFields({ body, onChange }: { body: TemplateBody; onChange: (body: TemplateBody) => void }) {
  const id = useId();
  const words = t();
  const field = (key: keyof TemplateBody, hint = '') => (
    <div class="field" key={key}>
      <label for={`${id}-${key}`}>{words.fields[key]}</label>
      <input
        id={`${id}-${key}`}
        class="input"
        value={body[key]}
        placeholder={hint}
        autocomplete="off"
        spellcheck={false}
        onInput={event => onChange({ ...body, [key]: event.currentTarget.value })}
      />
    </div>
  );
  return (
    <>
      {field('template_name', 'login.conf')}
      {field('abs_path', '/opt/login/etc')}
      {field('file_name', `login_\${LocalInstID}.conf`)}
      <div class="template-fields">
        {field('owner')}
        {field('group')}
        {field('filemode')}
        <div class="field">
          <label for={`${id}-separator`}>{words.fields.line_separator}</label>
          <select
            id={`${id}-separator`}
            class="input"
            value={body.line_separator}
            onChange={event => onChange({ ...body, line_separator: event.currentTarget.value })}
          >
            {['LF', 'CRLF', 'CR'].map(one => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </div>
      </div>
    </>
  );
}
