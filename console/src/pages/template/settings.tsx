/** Changes name, place and owner of the files of a template, and deletes it. */
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { changeTemplate, deleteTemplate, type Template, type TemplateBody } from '../../business/api';
import { mayOperate } from '../../business/blocked';
import { TemplateDialog } from '../../business/template-dialog';
import { Button } from '../../components/button';
import { Confirm } from '../../components/confirm';
import { toast } from '../../components/toast';
import { reasonWord } from '../../i18n/common';
import { count } from '../../i18n/format';
import { paths } from '../../url/paths';
import { t } from './strings';

const bodyOf = (template: Template): TemplateBody => {
  const { template_name, file_name, abs_path, owner, group, filemode, line_separator } = template;
  return { template_name, file_name, abs_path, owner, group, filemode, line_separator };
};

export function TemplateSettings({
  business,
  template,
  onChanged,
}: {
  business: number;
  template: Template;
  onChanged: () => void;
}) {
  const words = t();
  const { route } = useLocation();
  const [asking, setAsking] = useState<'' | 'change' | 'delete'>('');
  const may = mayOperate(business) ? null : reasonWord('role');
  const { processes, process_templates } = template.bindings;
  return (
    <span class="line">
      <Button size="small" blocked={may} onClick={() => setAsking('change')}>
        {words.change}
      </Button>
      <Button size="small" blocked={may} onClick={() => setAsking('delete')}>
        {words.delete}
      </Button>
      {asking === 'change' && (
        <TemplateDialog
          title={words.changeTitle}
          action={words.saveSettings}
          body={bodyOf(template)}
          save={async body => {
            await changeTemplate(business, template.id, body);
            toast(() => words.settingsSaved, 'good');
            onChanged();
          }}
          onClose={() => setAsking('')}
        />
      )}
      {asking === 'delete' && (
        <Confirm
          danger
          title={words.deleteTitle(template.template_name)}
          action={words.delete}
          run={async () => {
            await deleteTemplate(business, template.id);
            toast(() => words.deleted(template.template_name), 'good');
            route(paths.businessView(business, 'templates'));
          }}
          onClose={() => setAsking('')}
        >
          {processes.length + process_templates.length === 0
            ? words.deleteUnbound
            : words.deleteBound(processes.length, process_templates.length)}{' '}
          {words.deleteText(template.versions, count(template.versions))}
        </Confirm>
      )}
    </span>
  );
}
