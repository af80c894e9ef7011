import { useId, useState } from 'preact/hooks';
import { post } from '../../api/client';
import { me } from '../../api/session';
import { Button } from '../../components/button';
import { errorText } from '../../components/states';
import { t } from './strings';

export function Password() {
  const words = t();
  const id = useId();
  const [values, setValues] = useState({ old: '', fresh: '', again: '' });
  const [busy, setBusy] = useState(false);
  const [said, setSaid] = useState<{ ok: boolean; text: string } | null>(null);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (values.fresh !== values.again) {
      setSaid({ ok: false, text: words.differ });
      return;
    }
    setBusy(true);
    try {
      await post('/me/password', { old: values.old, new: values.fresh });
      setValues({ old: '', fresh: '', again: '' });
      setSaid({ ok: true, text: words.changed });
    } catch (error) {
      setSaid({ ok: false, text: errorText(error as Error) });
    }
    setBusy(false);
  };
  return (
    <section class="card">
      <h2 class="card-head">{words.password}</h2>
      <form class="card-body me-password" onSubmit={submit}>
        {/* For password managers. */}
        <input
          class="visually-hidden"
          type="text"
          autocomplete="username"
          value={me.value?.user?.name}
          readOnly
          tabIndex={-1}
          aria-hidden="true"
        />
        {(['old', 'fresh', 'again'] as const).map(key => (
          <div class="field" key={key}>
            <label for={`${id}-${key}`}>{words[key]}</label>
            <input
              id={`${id}-${key}`}
              class="input"
              type="password"
              required
              autocomplete={key === 'old' ? 'current-password' : 'new-password'}
              value={values[key]}
              onInput={event => setValues({ ...values, [key]: event.currentTarget.value })}
            />
          </div>
        ))}
        {said && (
          <p class={`note ${said.ok ? '' : 'note-bad'}`} role={said.ok ? 'status' : 'alert'}>
            {said.text}
          </p>
        )}
        <div class="line">
          <Button type="submit" busy={busy}>
            {words.change}
          </Button>
        </div>
      </form>
    </section>
  );
}
