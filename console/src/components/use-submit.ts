import { useState } from 'preact/hooks';

interface Submit {
  busy: boolean;
  /** Why it was refused. */
  error: Error | null;
  send: () => Promise<void>;
}

/** Does what a dialog asks for, once at a time, and keeps why it was refused. `done` closes the dialog. */
export function useSubmit<T>(run: () => Promise<T>, done: (answer: T) => void): Submit {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<Error | null>(null);
  const send = async () => {
    if (busy) return;
    setBusy(true);
    setError(null);
    try {
      done(await run());
    } catch (refused) {
      setError(refused as Error);
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, send };
}
