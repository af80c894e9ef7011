/**
 * Which outputs are followed: two at once over all tabs, because each takes one of the six connections that a browser opens to
 * a server over HTTP/1.1. The worker that all tabs share keeps them. Pure.
 */

export const MOST_FOLLOWS = 2;

/** May follow; has to wait; has to stop, because another asked to follow in its place. */
export type SlotState = 'granted' | 'full' | 'taken';

export class FollowSlots<Key> {
  /** The oldest first. */
  readonly #active: Key[] = [];
  readonly #waiting: Key[] = [];
  readonly #tell: (key: Key, state: SlotState) => void;

  constructor(tell: (key: Key, state: SlotState) => void) {
    this.#tell = tell;
  }

  /** Follows if there is room, or as soon as there is. */
  ask(key: Key) {
    if (this.#active.includes(key) || this.#waiting.includes(key)) return;
    if (this.#active.length < MOST_FOLLOWS) this.#grant(key);
    else {
      this.#waiting.push(key);
      this.#tell(key, 'full');
    }
  }

  /** Follows at once; the oldest stops if there is no room, and waits. */
  take(key: Key) {
    if (this.#active.includes(key)) return;
    remove(this.#waiting, key);
    if (this.#active.length >= MOST_FOLLOWS) {
      const oldest = this.#active.shift() as Key;
      this.#waiting.push(oldest);
      this.#tell(oldest, 'taken');
    }
    this.#grant(key);
  }

  leave(key: Key) {
    remove(this.#waiting, key);
    remove(this.#active, key);
    while (this.#active.length < MOST_FOLLOWS && this.#waiting.length > 0) this.#grant(this.#waiting.shift() as Key);
  }

  #grant(key: Key) {
    this.#active.push(key);
    this.#tell(key, 'granted');
  }
}

function remove<T>(from: T[], one: T) {
  const at = from.indexOf(one);
  if (at >= 0) from.splice(at, 1);
}
