import { useState } from 'preact/hooks';
import { call, get } from '../../api/client';
import { useData } from '../../api/use-data';
import { Button } from '../../components/button';
import { errorText, Loaded } from '../../components/states';
import { Ago, Time } from '../../components/time';
import { toast } from '../../components/toast';
import { segment } from '../../url/codec';
import { programOf } from './program';
import { t } from './strings';

/** The id is not the token. */
interface Login {
  id: string;
  created_at: number;
  expires_at: number;
  /** The address; empty for a login that is older than its keeping. */
  from?: string;
  user_agent?: string;
  /** The one that asks. */
  current: boolean;
}

export function Logins() {
  const words = t();
  const answer = useData('logins', signal => get<{ logins: Login[] }>('/me/logins', {}, signal));
  const [busy, setBusy] = useState('');
  const end = async (login: Login) => {
    setBusy(login.id);
    try {
      await call('DELETE', `/me/logins/${segment(login.id)}`);
      answer.reload();
    } catch (error) {
      toast(() => `${words.refused}: ${errorText(error as Error)}`, 'bad');
    }
    setBusy('');
  };
  return (
    <section class="card">
      <h2 class="card-head">{words.logins}</h2>
      <div class="card-body stack">
        <p class="muted">{words.loginsText}</p>
        <Loaded {...answer}>
          {({ logins }) => (
            <ul class="me-logins">
              {logins.length === 0 && <li class="muted">{words.noLogins}</li>}
              {logins.map(login => {
                return (
                  <li key={login.id} class="line">
                    <span class="grow line">
                      <code>{login.id}</code>
                      {login.current && <span class="chip">{words.thisLogin}</span>}
                      <span class="muted">
                        {login.from && `${login.from} · `}
                        {login.user_agent && (
                          <>
                            <span title={login.user_agent}>{programOf(login.user_agent)}</span>
                            {' · '}
                          </>
                        )}
                        {words.began} <Ago at={login.created_at} /> · {words.ends} <Time at={login.expires_at} />
                      </span>
                    </span>
                    {!login.current && (
                      <Button size="small" busy={busy === login.id} onClick={() => end(login)}>
                        {words.end}
                      </Button>
                    )}
                  </li>
                );
              })}
            </ul>
          )}
        </Loaded>
      </div>
    </section>
  );
}
