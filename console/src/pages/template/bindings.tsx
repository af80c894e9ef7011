/** Which processes get files of the template. */
import { useState } from 'preact/hooks';
import { useData } from '../../api/use-data';
import { bind, type Template, type ViewProcess, view } from '../../business/api';
import { mayOperate } from '../../business/blocked';
import { Button } from '../../components/button';
import { ErrorBox, Loaded } from '../../components/states';
import { toast } from '../../components/toast';
import { reasonWord } from '../../i18n/common';
import { count } from '../../i18n/format';
import { paths } from '../../url/paths';
import { t } from './strings';

interface BindingsTabProps {
  business: number;
  template: Template;
  onSaved: () => void;
}

interface Group {
  key: string;
  name: string;
  module: string;
  set: string;
  ids: number[];
}

/** Processes of the same name in a module are bound together. */
function groupsOf(rows: ViewProcess[]): Group[] {
  const groups = new Map<string, Group>();
  for (const row of rows) {
    const key = `${row.module.id} ${row.name}`;
    const group = groups.get(key) ?? { key, name: row.name, module: row.module.name, set: row.set.name, ids: [] };
    group.ids.push(row.id);
    groups.set(key, group);
  }
  return [...groups.values()];
}

export function BindingsTab({ business, template, onSaved }: BindingsTabProps) {
  const words = t();
  const [chosen, setChosen] = useState(() => new Set(template.bindings.processes));
  const [wanted, setWanted] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const answer = useData(`bindable ${business} ${wanted}`, signal =>
    view(business, wanted.trim() ? { search: wanted.trim() } : {}, { limit: 1000, order: 'set,module,name' }, signal),
  );
  const before = new Set(template.bindings.processes);
  const changed = chosen.size !== before.size || [...chosen].some(id => !before.has(id));
  const save = () => {
    setBusy(true);
    setError(null);
    bind(business, template.id, { ...template.bindings, processes: [...chosen].sort((a, b) => a - b) })
      .then(
        () => {
          toast(() => words.bound(count(chosen.size)), 'good');
          onSaved();
        },
        (failed: Error) => setError(failed),
      )
      .finally(() => setBusy(false));
  };
  return (
    <div class="stack">
      <div class="line">
        <input
          class="input template-search"
          type="search"
          aria-label={words.searchProcesses}
          placeholder={words.searchProcesses}
          value={wanted}
          onInput={event => setWanted(event.currentTarget.value)}
        />
        <span class="muted grow">
          {words.boundTo(count(chosen.size))}
          {template.bindings.process_templates.length > 0 &&
            ` · ${words.processTemplates(template.bindings.process_templates.join(', '))}`}
        </span>
        <Button
          kind="primary"
          busy={busy}
          blocked={mayOperate(business) ? (changed ? null : words.nothingToSave) : reasonWord('role')}
          onClick={save}
        >
          {words.saveBindings}
        </Button>
      </div>
      {error && <ErrorBox title={words.refused} error={error} />}
      <Loaded {...answer}>
        {page => (
          <>
            <ul class="card template-bindings">
              {groupsOf(page.processes).map(group => {
                const on = group.ids.filter(id => chosen.has(id)).length;
                return (
                  <li key={group.key}>
                    <label class="line">
                      <input
                        type="checkbox"
                        checked={on === group.ids.length}
                        ref={box => {
                          if (box) box.indeterminate = on > 0 && on < group.ids.length;
                        }}
                        onChange={event => {
                          const next = new Set(chosen);
                          for (const id of group.ids) {
                            if (event.currentTarget.checked) next.add(id);
                            else next.delete(id);
                          }
                          setChosen(next);
                        }}
                      />
                      <strong>{group.name}</strong>
                      <span class="muted">
                        {group.set} · {group.module}
                      </span>
                    </label>
                    <a class="muted" href={paths.business(business, { id: group.ids.slice(0, 100).join(',') })}>
                      {words.processes(group.ids.length, count(group.ids.length))}
                    </a>
                  </li>
                );
              })}
            </ul>
            {page.count > page.processes.length && (
              <p class="muted">{words.moreProcesses(count(page.count - page.processes.length))}</p>
            )}
          </>
        )}
      </Loaded>
    </div>
  );
}
