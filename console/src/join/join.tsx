/** Makes a command that adds a host. The token in it is made when asked for: it lets machines in. */
import { useState } from 'preact/hooks';
import { post } from '../api/client';
import { may } from '../api/session';
import type { CreatedToken } from '../api/types';
import { Button } from '../components/button';
import { errorText } from '../components/states';
import { reasonWord } from '../i18n/common';
import { joinCommand, takesOwnMachineOnly } from './command';
import { Commands } from './commands';
import { t } from './strings';

export function Join() {
  const words = t();
  const [made, setMade] = useState<CreatedToken | null>(null);
  const [error, setError] = useState<Error | null>(null);
  const [busy, setBusy] = useState(false);
  const make = async () => {
    setBusy(true);
    setError(null);
    try {
      setMade(await post<CreatedToken>('/tokens', { expires_in: '1h' }));
    } catch (refused) {
      setError(refused as Error);
    }
    setBusy(false);
  };
  if (made)
    return (
      <>
        <Commands text={joinCommand(made)} />
        <p class="muted">{words.text}</p>
        {takesOwnMachineOnly(made) && <p class="note note-warn">{words.ownMachine(made.agents_address ?? '')}</p>}
      </>
    );
  return (
    <>
      <div class="line">
        <Button icon="plus" busy={busy} blocked={may('admin') ? null : reasonWord('role')} onClick={make}>
          {words.make}
        </Button>
      </div>
      {error && (
        <p class="note note-bad" role="alert">
          {errorText(error)}
        </p>
      )}
    </>
  );
}
