/** The variables that a template of the chosen instance may use. A click inserts one where the cursor is. */
import { useState } from 'preact/hooks';
import { useData } from '../../api/use-data';
import { variables } from '../../business/api';
import { Loaded } from '../../components/states';
import { t } from './strings';

interface VariablesProps {
  business: number;
  process: number;
  inst: number;
  /** Why nothing can be inserted. */
  blocked: string | null;
  onInsert: (name: string) => void;
}

const shown = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));

export function Variables({ business, process, inst, blocked, onInsert }: VariablesProps) {
  const words = t();
  const [wanted, setWanted] = useState('');
  const answer = useData(`variables ${business} ${process} ${inst}`, signal =>
    variables(business, process, inst, signal),
  );
  const find = wanted.trim().toLowerCase();
  return (
    <Loaded {...answer} lines={6}>
      {found => {
        const rows = Object.entries(found.variables)
          .map(([name, value]) => ({ name, value: shown(value) }))
          .filter(({ name, value }) => `${name}\n${value}`.toLowerCase().includes(find));
        return (
          <>
            <input
              class="input input-small"
              type="search"
              aria-label={words.findVariable}
              placeholder={words.findVariable}
              value={wanted}
              onInput={event => setWanted(event.currentTarget.value)}
            />
            {rows.length === 0 ? (
              <p class="muted">{words.noVariable}</p>
            ) : (
              <ul class="card variables">
                {rows.map(({ name, value }) => (
                  <li key={name}>
                    {blocked === null ? (
                      <button type="button" title={words.insert(name)} onClick={() => onInsert(name)}>
                        {name}
                      </button>
                    ) : (
                      <code>{name}</code>
                    )}
                    <span class="muted ellipsis" title={value}>
                      {value}
                    </span>
                  </li>
                ))}
              </ul>
            )}
          </>
        );
      }}
    </Loaded>
  );
}
