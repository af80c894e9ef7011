/** Reads server-sent events out of a byte stream. Ours, because EventSource shows neither 401 nor 503 nor Retry-After. */

export interface SseEvent {
  event: string;
  data: string;
  id: string | null;
}

export class SseParser {
  private readonly decoder = new TextDecoder();
  private rest = '';
  private event = '';
  private data: string[] = [];
  private id: string | null = null;

  /** The events that these bytes complete. */
  push(bytes: Uint8Array): SseEvent[] {
    const found: SseEvent[] = [];
    let text = this.rest + this.decoder.decode(bytes, { stream: true });
    // A CR at the end may be half of a CRLF.
    let held = '';
    if (text.endsWith('\r')) {
      held = '\r';
      text = text.slice(0, -1);
    }
    const lines = text.split(/\r\n|\r|\n/);
    this.rest = (lines.pop() ?? '') + held;
    for (const line of lines) {
      const done = this.line(line);
      if (done) found.push(done);
    }
    return found;
  }

  private line(line: string): SseEvent | null {
    if (line === '') {
      const data = this.data.join('\n');
      const done = this.data.length > 0 ? { event: this.event || 'message', data, id: this.id } : null;
      this.event = '';
      this.data = [];
      return done;
    }
    if (line.startsWith(':')) return null;
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'event') this.event = value;
    else if (field === 'data') this.data.push(value);
    else if (field === 'id' && !value.includes('\0')) this.id = value;
    return null;
  }
}
