/** The config templates of a business. */
import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { useData } from '../../api/use-data';
import { createTemplate, type Template, type TemplateBody, templates } from '../../business/api';
import { mayOperate } from '../../business/blocked';
import { BusinessHead, useBusiness } from '../../business/head';
import { TemplateDialog } from '../../business/template-dialog';
import { Button } from '../../components/button';
import '../../components/field.css';
import { Empty, Loaded } from '../../components/states';
import { Ago } from '../../components/time';
import { reasonWord } from '../../i18n/common';
import { count } from '../../i18n/format';
import { useThrottled } from '../../live/throttled';
import { useTitle } from '../../shell/title';
import { paths } from '../../url/paths';
import { t } from './strings';

export default function TemplatesPage() {
  const business = useBusiness();
  const [making, setMaking] = useState(false);
  const words = t();
  useTitle(words.title);
  const answer = useData(`templates ${business}`, signal => templates(business, signal));
  useThrottled(['template'], answer.reload, 1000);
  const make = (
    <Button
      icon="plus"
      size="small"
      blocked={mayOperate(business) ? null : reasonWord('role')}
      onClick={() => setMaking(true)}
    >
      {words.make}
    </Button>
  );
  return (
    <div class="page">
      <BusinessHead id={business} active="templates" title={words.title}>
        {answer.data && <span class="muted">{count(answer.data.templates.length)}</span>}
        <span class="grow" />
        {make}
      </BusinessHead>
      <Loaded {...answer} lines={5}>
        {({ templates: all }) =>
          all.length === 0 ? (
            <Empty icon="templates" title={words.none} action={make}>
              {words.noneText}
            </Empty>
          ) : (
            <div class="card scroll-x">
              <table class="plain-table">
                <thead>
                  <tr>
                    <th scope="col">{words.name}</th>
                    <th scope="col">{words.file}</th>
                    <th scope="col">{words.state}</th>
                    <th scope="col" class="number">
                      {words.bound}
                    </th>
                    <th scope="col">{words.changed}</th>
                  </tr>
                </thead>
                <tbody>
                  {all.map(one => (
                    <Row key={one.id} business={business} one={one} />
                  ))}
                </tbody>
              </table>
            </div>
          )
        }
      </Loaded>
      {making && <Make business={business} onClose={() => setMaking(false)} />}
    </div>
  );
}

function Row({ business, one }: { business: number; one: Template }) {
  const words = t();
  const bound = one.bindings.processes.length + one.bindings.process_templates.length;
  return (
    <tr>
      <td>
        <a href={paths.template(business, one.id)}>{one.template_name}</a>
      </td>
      <td>
        <code>
          {one.abs_path}/{one.file_name}
        </code>
      </td>
      <td>
        <span class="line">
          {one.active !== null ? (
            <span class="chip tone-good">{words.active(one.active)}</span>
          ) : (
            <span class="chip tone-warn">{words.notActive}</span>
          )}
          {one.draft !== null && <span class="chip tone-info">{words.draft(one.draft)}</span>}
        </span>
      </td>
      <td class="number">
        <a href={paths.template(business, one.id, { tab: 'bindings' })}>{count(bound)}</a>
      </td>
      <td class="nowrap">
        <Ago at={one.updated_at} /> <span class="muted">{one.updated_by}</span>
      </td>
    </tr>
  );
}

const NEW: TemplateBody = {
  template_name: '',
  file_name: '',
  abs_path: '',
  owner: 'root',
  group: 'root',
  filemode: '0644',
  line_separator: 'LF',
};

function Make({ business, onClose }: { business: number; onClose: () => void }) {
  const { route } = useLocation();
  const words = t();
  return (
    <TemplateDialog
      title={words.make}
      action={words.make}
      body={NEW}
      save={async body => route(paths.template(business, (await createTemplate(business, body)).id))}
      onClose={onClose}
    />
  );
}
