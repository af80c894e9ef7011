/**
 * Keyboard shortcuts. A component says which keys it answers while it is shown; the help lists them. Keys are read only
 * outside of fields, and all can be switched off.
 */
import { useEffect, useRef } from 'preact/hooks';
import { kept } from '../kept';

/** `/`, `j`, `Shift+x`, `Ctrl+k`, or two after each other: `g p`. */
export type KeyMap = Record<string, { label: string; run: (event: KeyboardEvent) => void; hidden?: boolean }>;

interface Entry {
  group: string;
  map: { current: KeyMap };
}

const KEY = 'muster.keys';
const entries: Entry[] = [];
let prefix = '';
let prefixAt = 0;

export const keysOn = kept(KEY, stored => stored !== 'off');

export function setKeysOn(on: boolean) {
  localStorage.setItem(KEY, on ? 'on' : 'off');
  keysOn.value = on;
}

export function useKeys(group: string, map: KeyMap) {
  const current = useRef(map);
  current.current = map;
  useEffect(() => {
    const entry = { group, map: current };
    entries.push(entry);
    return () => {
      entries.splice(entries.indexOf(entry), 1);
    };
  }, [group]);
}

/** For the help: groups in the order in which they were added, keys with their labels. */
export function shownKeys(): { group: string; keys: { key: string; label: string }[] }[] {
  const groups = new Map<string, { key: string; label: string }[]>();
  for (const { group, map } of entries) {
    const keys = groups.get(group) ?? [];
    for (const [key, { label, hidden }] of Object.entries(map.current)) if (!hidden) keys.push({ key, label });
    groups.set(group, keys);
  }
  return [...groups].map(([group, keys]) => ({ group, keys })).filter(({ keys }) => keys.length > 0);
}

export function keyName(event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'shiftKey' | 'altKey'>): string {
  const letter = event.key.length === 1;
  const key =
    letter && (event.ctrlKey || event.metaKey || event.shiftKey) && /[a-z]/i.test(event.key)
      ? event.key.toLowerCase()
      : event.key;
  const parts: string[] = [];
  if (event.ctrlKey || event.metaKey) parts.push('Ctrl');
  if (event.altKey) parts.push('Alt');
  // The Shift of `?` is part of the character.
  if (event.shiftKey && (!letter || /[a-z]/.test(key))) parts.push('Shift');
  return [...parts, key].join('+');
}

const inField = (target: EventTarget | null) =>
  target instanceof HTMLElement &&
  (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName)) &&
  !target.matches('[type=checkbox]');

function pressed(event: KeyboardEvent) {
  if (event.defaultPrevented || event.isComposing) return;
  const name = keyName(event);
  const always = name.startsWith('Ctrl+');
  if (!keysOn.value && !always) return;
  // In a shadow root, such as that of the editor, the target is its host; the path begins with the element itself.
  if (inField(event.composedPath()[0] ?? null) && !always) return;
  // Enter on a link or a button is theirs.
  if (name === 'Enter' && event.target instanceof Element && event.target.closest('a, button, summary')) return;
  // A dialog that is open has the keyboard to itself.
  if (document.querySelector('dialog:modal') && !always) return;
  const sequence = prefix && event.timeStamp - prefixAt < 1500 ? `${prefix} ${name}` : '';
  prefix = '';
  for (const wanted of [sequence, name]) {
    if (!wanted) continue;
    // The last that was added is the nearest.
    for (const { map } of [...entries].reverse()) {
      const found = map.current[wanted];
      if (!found) continue;
      event.preventDefault();
      found.run(event);
      return;
    }
  }
  if (entries.some(({ map }) => Object.keys(map.current).some(key => key.startsWith(`${name} `)))) {
    prefix = name;
    prefixAt = event.timeStamp;
  }
}

export const startKeys = () => addEventListener('keydown', pressed);
