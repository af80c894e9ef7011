/** The live stream as a tab sees it: a state to show, and changes of what the tab shows. */
import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { loginOpen } from '../api/session';
import type { SlotState } from '../logs/slots';
import { type Change, type Interest, matcher, Pending } from './changes';
import { ALIVE_EVERY_MS, TAB_EVERY_MS, type ToTab, type ToWorker } from './protocol';
import type { LiveState, LiveStream } from './stream';
import { workerUrl } from './worker-url';

interface Subscription {
  interest: Interest;
  matches: (change: Change) => boolean;
  changed: (changes: Change[]) => void;
}

const subscriptions = new Set<Subscription>();

export const live = {
  state: signal<LiveState>('connecting'),
  /** Rises when changes may have been missed: what is shown must be asked for again. */
  epoch: signal(0),
};

/** What the worker says about outputs that this tab wants to follow, by their ids. */
const follows = new Map<number, (state: SlotState) => void>();
let nextFollow = 0;

let tellWorker: ((message: ToWorker) => void) | null = null;
let announcing = false;

/** Called once, after the first login. */
export function startLive() {
  if (tellWorker) return;
  tellWorker = 'SharedWorker' in globalThis ? connectWorker() : connectHere();
  announce();
  document.addEventListener('visibilitychange', () => tellWorker?.({ type: 'visible', visible: !document.hidden }));
  addEventListener('online', reconnectNow);
  // The connection may be dead without a sign; to connect anew finds out.
  addEventListener('offline', reconnectNow);
}

export const reconnectNow = () => tellWorker?.({ type: 'again' });

function heard(message: ToTab) {
  if (message.type === 'state') {
    live.state.value = message.state;
    if (message.state === 'signed-out') loginOpen.value = true;
  } else if (message.type === 'follow') follows.get(message.id)?.(message.state);
  else if (message.type === 'missed') live.epoch.value++;
  else for (const one of subscriptions) deliver(one, message.changes);
}

function deliver(to: Subscription, changes: Change[]) {
  const wanted = changes.filter(to.matches);
  if (wanted.length > 0) to.changed(wanted);
}

function connectWorker(): (message: ToWorker) => void {
  const worker = new SharedWorker(workerUrl(), { type: 'module', name: 'muster-live' });
  worker.port.onmessage = (message: MessageEvent<ToTab>) => heard(message.data);
  worker.port.start();
  const tell = (message: ToWorker) => worker.port.postMessage(message);
  setInterval(() => tell({ type: 'alive' }), ALIVE_EVERY_MS);
  addEventListener('pagehide', () => tell({ type: 'bye' }));
  addEventListener('pageshow', event => event.persisted && tell({ type: 'alive' }));
  return tell;
}

/** Without SharedWorker: a stream of the tab, closed while it is hidden. */
function connectHere(): (message: ToWorker) => void {
  let stream: LiveStream | null = null;
  let wants: (change: Change) => boolean = () => false;
  const pending = new Pending();
  let waiting = false;
  void import('./stream').then(({ LiveStream }) => {
    stream = new LiveStream({
      changes(changes) {
        for (const change of changes) if (wants(change)) pending.add(change);
        if (pending.size === 0) return;
        if (waiting) return;
        waiting = true;
        setTimeout(() => {
          waiting = false;
          heard({ type: 'changes', changes: pending.take() });
        }, TAB_EVERY_MS);
      },
      missed: () => heard({ type: 'missed' }),
      state: state => heard({ type: 'state', state }),
    });
    if (!document.hidden) stream.open();
  });
  return message => {
    if (message.type === 'interests') wants = matcher(message.interests);
    // No tab knows of the others, and hidden tabs do not follow.
    else if (message.type === 'follow' && message.how !== 'leave')
      heard({ type: 'follow', id: message.id, state: 'granted' });
    else if (message.type === 'again') stream?.again();
    else if (message.type === 'visible' && message.visible) {
      stream?.open();
      heard({ type: 'missed' });
    } else if (message.type === 'visible') stream?.close();
  };
}

/** Interests change in bursts when a page renders, so they are sent once. */
function announce() {
  if (announcing || !tellWorker) return;
  announcing = true;
  queueMicrotask(() => {
    announcing = false;
    tellWorker?.({ type: 'interests', interests: [...subscriptions].map(one => one.interest) });
  });
}

export function subscribe(interest: Interest, changed: (changes: Change[]) => void): () => void {
  const one: Subscription = { interest, matches: matcher([interest]), changed };
  subscriptions.add(one);
  announce();
  return () => {
    subscriptions.delete(one);
    announce();
  };
}

/** Hears of changes while the component is shown. */
export function useLive(interest: Interest | null, changed: (changes: Change[]) => void) {
  const callback = useRef(changed);
  callback.current = changed;
  const key = interest && JSON.stringify(interest);
  useEffect(() => {
    if (!interest) return;
    return subscribe(interest, changes => callback.current(changes));
  }, [key]);
}

export interface FollowSlot {
  /** Null until the worker has answered, or while it is not wanted. */
  state: SlotState | null;
  /** Follows here; the oldest of the others pauses. */
  take(): void;
}

/** One of the two places for outputs that are followed at once, while it is wanted. */
export function useFollowSlot(wanted: boolean): FollowSlot {
  const [state, setState] = useState<SlotState | null>(null);
  const id = useRef(0);
  useEffect(() => {
    if (!wanted) return;
    const own = ++nextFollow;
    id.current = own;
    follows.set(own, setState);
    tellWorker?.({ type: 'follow', id: own, how: 'ask' });
    return () => {
      follows.delete(own);
      tellWorker?.({ type: 'follow', id: own, how: 'leave' });
      setState(null);
    };
  }, [wanted]);
  return { state, take: () => tellWorker?.({ type: 'follow', id: id.current, how: 'take' }) };
}
