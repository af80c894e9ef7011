/** Sets and modules with their counts. A click narrows down, with Ctrl to several; another click widens again. */

import { useState } from 'preact/hooks';
import type { Data } from '../../api/use-data';
import type { TreeSet } from '../../business/api';
import { NO_PARTS, type ViewState } from '../../business/filter';
import { Icon } from '../../components/icon';
import { Loaded } from '../../components/states';
import { envWord } from '../../i18n/common';
import { count } from '../../i18n/format';
import type { SetState } from '../../url/state';
import { t } from './strings';

interface TreeProps {
  data: Data<{ sets: TreeSet[] }>;
  state: ViewState;
  set: SetState<ViewState>;
}

/** More sets than this begin closed. */
const OPEN = 12;

export function Tree({ data, state, set }: TreeProps) {
  const [closed, setClosed] = useState<Record<number, boolean>>({});
  const words = t();
  return (
    <section class="tree" aria-label={words.tree}>
      <h2 class="minor">{words.tree}</h2>
      <Loaded {...data} lines={4}>
        {({ sets }) => {
          const all = sets.reduce((sum, one) => sum + one.count, 0);
          const nothing = state.set.length === 0 && state.module.length === 0 && state.expr === '';
          return (
            <ul>
              <li>
                <Node
                  name={words.all}
                  total={all}
                  running={sets.reduce((sum, one) => sum + one.running, 0)}
                  on={nothing}
                  choose={() => set({ ...NO_PARTS, expr: '' }, 'push')}
                />
              </li>
              {sets.map(one => {
                const id = String(one.id);
                const within = one.modules.some(module => state.module.includes(String(module.id)));
                const open = within || !(closed[one.id] ?? (sets.length > OPEN && !state.set.includes(id)));
                return (
                  <li key={one.id}>
                    <div class="tree-set">
                      <button
                        type="button"
                        class={`tree-fold ${open ? 'is-open' : ''}`}
                        aria-expanded={open}
                        aria-label={words.modulesOf(one.name)}
                        onClick={() => setClosed({ ...closed, [one.id]: open })}
                      >
                        <Icon name="right" size={12} />
                      </button>
                      <Node
                        name={one.name}
                        note={one.env === 'formal' ? undefined : envWord(one.env)}
                        total={one.count}
                        running={one.running}
                        on={state.set.includes(id)}
                        choose={several =>
                          set({ ...NO_PARTS, expr: '', set: picked(state.set, id, several), module: [] }, 'push')
                        }
                      />
                    </div>
                    {open && (
                      <ul class="tree-modules">
                        {one.modules.map(module => {
                          const key = String(module.id);
                          return (
                            <li key={module.id}>
                              <Node
                                name={module.name}
                                total={module.count}
                                running={module.running}
                                on={state.module.includes(key)}
                                choose={several =>
                                  set(
                                    { ...NO_PARTS, expr: '', set: [], module: picked(state.module, key, several) },
                                    'push',
                                  )
                                }
                              />
                            </li>
                          );
                        })}
                      </ul>
                    )}
                  </li>
                );
              })}
            </ul>
          );
        }}
      </Loaded>
    </section>
  );
}

function picked(before: string[], id: string, several: boolean): string[] {
  if (before.includes(id)) return before.filter(one => one !== id && several);
  return several ? [...before, id] : [id];
}

interface NodeProps {
  name: string;
  note?: string | undefined;
  total: number;
  running: number;
  on: boolean;
  choose: (several: boolean) => void;
}

function Node({ name, note, total, running, on, choose }: NodeProps) {
  const down = total - running;
  return (
    <button
      type="button"
      class="facet-value"
      aria-pressed={on}
      title={t().runningOf(count(running), count(total))}
      onClick={event => choose(event.ctrlKey || event.metaKey)}
    >
      <span class="ellipsis grow">
        {name}
        {note && <span class="tree-note"> {note}</span>}
      </span>
      {down > 0 && <span class="tree-down">{count(running)}/</span>}
      <span class="facet-count">{count(total)}</span>
    </button>
  );
}
