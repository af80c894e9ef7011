/** Says whether what is shown is live. Never silently stale. */
import { useEffect, useState } from 'preact/hooks';
import { Button } from '../components/button';
import { Icon } from '../components/icon';
import { live, reconnectNow } from '../live/live';
import { t } from './strings';

function liveWord() {
  const words = t();
  switch (live.state.value) {
    case 'live':
      return words.live;
    case 'connecting':
      return words.connecting;
    case 'reconnecting':
      return words.reconnecting;
    case 'stopping':
      return words.stopping;
    case 'signed-out':
      return words.signedOut;
  }
}

export function LiveMark() {
  const isLive = live.state.value === 'live';
  return (
    <span
      class={`live ${isLive ? 'live-on' : 'live-off'}`}
      role="status"
      title={isLive ? t().liveTitle : t().notLiveTitle}
    >
      <Icon name={isLive ? 'dot' : 'away'} size={13} />
      <span class="live-word">{liveWord()}</span>
    </span>
  );
}

/** A bar across the page once the stream has been away for a moment. */
export function LiveBar() {
  const state = live.state.value;
  const away = state === 'reconnecting' || state === 'stopping';
  const [shown, setShown] = useState(false);
  useEffect(() => {
    if (!away) {
      setShown(false);
      return;
    }
    const timer = setTimeout(() => setShown(true), 1500);
    return () => clearTimeout(timer);
  }, [away]);
  if (!shown || !away) return null;
  return (
    <div class="live-bar" role="alert">
      <Icon name="away" size={14} />
      <span>
        {state === 'stopping' ? `${t().stopping}. ` : ''}
        {t().notLive}
      </span>
      <Button size="small" onClick={reconnectNow}>
        {t().tryNow}
      </Button>
    </div>
  );
}
