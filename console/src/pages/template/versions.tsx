/** All versions; two of them line by line; activate and clone. */
import { useState } from 'preact/hooks';
import { useData } from '../../api/use-data';
import { activate, clone, type Template, type Version, version } from '../../business/api';
import { mayOperate } from '../../business/blocked';
import { Button } from '../../components/button';
import { ErrorBox, Loaded } from '../../components/states';
import { Ago } from '../../components/time';
import { toast } from '../../components/toast';
import { DiffView } from '../../editor/diff-view';
import { reasonWord } from '../../i18n/common';
import type { SetState } from '../../url/state';
import type { TemplateState } from './page';
import { t } from './strings';

interface VersionsTabProps {
  business: number;
  template: Template;
  versions: Version[];
  state: TemplateState;
  set: SetState<TemplateState>;
  onChanged: () => void;
}

const TONES = { draft: 'info', active: 'good', past: 'idle' } as const;

export function VersionsTab({ business, template, versions, state, set, onChanged }: VersionsTabProps) {
  const words = t();
  const [error, setError] = useState<Error | null>(null);
  const all = [...versions].sort((a, b) => b.id - a.id);
  const now = Number(state.v) || all[0]?.id || 0;
  const against = Number(state.against) || all.find(one => one.id < now)?.id || 0;
  const may = mayOperate(business) ? null : reasonWord('role');
  const act = (run: () => Promise<unknown>, said: string) => {
    setError(null);
    run().then(
      () => {
        toast(() => said, 'good');
        onChanged();
      },
      (failed: Error) => setError(failed),
    );
  };
  if (all.length === 0) return <p class="muted">{words.noVersions}</p>;
  return (
    <div class="stack">
      {error && <ErrorBox title={words.refused} error={error} />}
      <div class="card scroll-x">
        <table class="plain-table">
          <thead>
            <tr>
              <th scope="col">{words.version}</th>
              <th scope="col">{words.description}</th>
              <th scope="col">{words.changed}</th>
              <th scope="col">{words.compare}</th>
              <th scope="col">
                <span class="visually-hidden">{words.actions}</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {all.map(one => (
              <tr key={one.id}>
                <td class="nowrap">
                  {one.id} <span class={`chip tone-${TONES[one.state]}`}>{words.states[one.state]}</span>
                </td>
                <td>{one.description}</td>
                <td class="nowrap">
                  <Ago at={one.updated_at} /> <span class="muted">{one.updated_by}</span>
                </td>
                <td class="nowrap">
                  <Button
                    size="small"
                    kind="quiet"
                    pressed={one.id === against}
                    onClick={() => set({ against: String(one.id) })}
                  >
                    {words.before}
                  </Button>
                  <Button size="small" kind="quiet" pressed={one.id === now} onClick={() => set({ v: String(one.id) })}>
                    {words.after}
                  </Button>
                </td>
                <td class="nowrap number">
                  <Button
                    size="small"
                    blocked={may ?? (one.state === 'active' ? words.alreadyActive : null)}
                    onClick={() => act(() => activate(business, template.id, one.id), words.activated(one.id))}
                  >
                    {words.activate}
                  </Button>{' '}
                  <Button
                    size="small"
                    blocked={may ?? (one.state === 'draft' ? words.isDraft : null)}
                    onClick={() => act(() => clone(business, template.id, one.id), words.cloned(one.id))}
                  >
                    {words.clone}
                  </Button>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Compare business={business} template={template.id} now={now} against={against} />
    </div>
  );
}

function Compare({
  business,
  template,
  now,
  against,
}: {
  business: number;
  template: number;
  now: number;
  against: number;
}) {
  const words = t();
  const answer = useData(`compare ${business} ${template} ${now} ${against}`, async signal => {
    const text = async (number: number) =>
      number === 0 ? '' : ((await version(business, String(template), number, signal)).content ?? '');
    const [before, after] = await Promise.all([text(against), text(now)]);
    return { before, after };
  });
  return (
    <section class="stack-tight">
      <h2 class="minor">{words.comparing(against, now)}</h2>
      <Loaded {...answer}>{texts => <DiffView {...texts} label={words.comparing(against, now)} />}</Loaded>
    </section>
  );
}
