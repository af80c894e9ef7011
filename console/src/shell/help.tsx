/** `?`: the keys that work on this page. */
import { signal } from '@preact/signals';
import { Dialog } from '../components/dialog';
import { keysOn, setKeysOn, shownKeys } from '../keys/keys';
import { t } from './strings';

export const helpOpen = signal(false);

export function Help() {
  if (!helpOpen.value) return null;
  return (
    <Dialog
      title={t().keys}
      onClose={() => {
        helpOpen.value = false;
      }}
    >
      <div class="help">
        {shownKeys().map(({ group, keys }) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl>
              {keys.map(({ key, label }) => (
                <div key={key} class="help-line">
                  <dt>
                    {key.split(/[ +]/).map(part => (
                      <kbd key={part}>{part}</kbd>
                    ))}
                  </dt>
                  <dd>{label}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <label class="line help-switch">
        <input type="checkbox" checked={keysOn.value} onChange={event => setKeysOn(event.currentTarget.checked)} />
        {t().keysOn}
      </label>
    </Dialog>
  );
}
