/**
 * The SharedWorker: one stream for all tabs. Over HTTP/1.1 a browser opens six connections to a server, so a stream per tab
 * would block the sixth tab. It parses and filters, so that a tab only hears of what it shows.
 */
import { FollowSlots } from '../logs/slots';
import { type Change, type Interest, matcher, Pending } from './changes';
import { GONE_AFTER_MS, TAB_EVERY_MS, type ToTab, type ToWorker } from './protocol';
import { type LiveState, LiveStream } from './stream';

interface Tab {
  port: MessagePort;
  wants: (change: Change) => boolean;
  pending: Pending;
  visible: boolean;
  /** Changes came while it was hidden. */
  missed: boolean;
  timer: ReturnType<typeof setTimeout> | undefined;
  heardAt: number;
  /** The outputs that it follows or wants to follow, by its ids. */
  follows: Map<number, Follow>;
}

interface Follow {
  tab: Tab;
  id: number;
}

const tabs = new Set<Tab>();
let state: LiveState = 'connecting';
let closing: ReturnType<typeof setTimeout> | undefined;

const slots = new FollowSlots<Follow>(({ tab, id }, state) => tell(tab, { type: 'follow', id, state }));

const stream = new LiveStream({
  changes(changes) {
    for (const tab of tabs) {
      for (const change of changes) if (tab.wants(change)) offer(tab, change);
      flushSoon(tab);
    }
  },
  missed() {
    for (const tab of tabs) tell(tab, { type: 'missed' });
  },
  state(now) {
    state = now;
    for (const tab of tabs) tell(tab, { type: 'state', state });
  },
});

function offer(tab: Tab, change: Change) {
  if (tab.visible) tab.pending.add(change);
  else tab.missed = true;
}

function flushSoon(tab: Tab) {
  if (tab.pending.size === 0 || tab.timer !== undefined) return;
  tab.timer = setTimeout(() => {
    tab.timer = undefined;
    if (tab.pending.size > 0) tell(tab, { type: 'changes', changes: tab.pending.take() });
  }, TAB_EVERY_MS);
}

const tell = (tab: Tab, message: ToTab) => tab.port.postMessage(message);

function follow(tab: Tab, id: number, how: 'ask' | 'take' | 'leave') {
  const one = tab.follows.get(id) ?? { tab, id };
  if (how === 'leave') tab.follows.delete(id);
  else tab.follows.set(id, one);
  slots[how](one);
}

function forget(tab: Tab) {
  clearTimeout(tab.timer);
  tabs.delete(tab);
  for (const id of [...tab.follows.keys()]) follow(tab, id, 'leave');
  if (tabs.size > 0) return;
  clearTimeout(closing);
  // A reload of the only tab keeps the stream.
  closing = setTimeout(() => tabs.size === 0 && stream.close(), 5000);
}

function welcome(port: MessagePort) {
  const tab: Tab = {
    port,
    wants: () => false,
    pending: new Pending(),
    visible: true,
    missed: false,
    timer: undefined,
    heardAt: Date.now(),
    follows: new Map(),
  };
  tabs.add(tab);
  port.onmessage = (message: MessageEvent<ToWorker>) => {
    tab.heardAt = Date.now();
    tabs.add(tab);
    const said = message.data;
    if (said.type === 'interests') tab.wants = matcher(said.interests as Interest[]);
    else if (said.type === 'again') stream.again();
    else if (said.type === 'follow') follow(tab, said.id, said.how);
    else if (said.type === 'bye') forget(tab);
    else if (said.type === 'visible') {
      tab.visible = said.visible;
      if (said.visible && tab.missed) {
        tab.missed = false;
        tell(tab, { type: 'missed' });
      }
    }
  };
  tell(tab, { type: 'state', state });
  clearTimeout(closing);
  stream.open();
}

setInterval(() => {
  for (const tab of tabs) if (Date.now() - tab.heardAt > GONE_AFTER_MS) forget(tab);
}, GONE_AFTER_MS / 2);

(self as unknown as { onconnect: (event: MessageEvent) => void }).onconnect = event => {
  const port = event.ports[0];
  if (port) welcome(port);
};
