// Read a streamed answer to its end, whatever happens to the connection: in a page, or in Node.js.
//
//   import { resumingStream } from "./resume_stream.mjs";
//   const stream = resumingStream("http://127.0.0.1:8080", "/v1/chat/completions", { messages });
//   for await (const event of stream) show(event.choices[0]?.delta.content ?? "");
//
// No dependency. It comes back where it was after every break, sends its request again where it is not
// sure that it arrived (which starts nothing twice), and knows at the end that no byte is missing.
// To go on after a reload of the page keep `stream.conversationId` and give it as `conversationId`.

const END = /^: end bytes=(\d+) events=(\d+) crc32=([0-9a-f]{8})\n$/;
const LATER = [429, 502, 503, 504];

export class StreamError extends Error {}

export function resumingStream(server, path, body, options = {}) {
  return new ResumingStream(server, path, body, options);
}

class ResumingStream {
  constructor(server, path, body, { headers = {}, patience = 60_000, conversationId, onProgress } = {}) {
    this.server = server.replace(/\/$/, "");
    this.path = path;
    this.body = JSON.stringify({ ...body, stream: true });
    // Nobody can guess it: it is all that is needed to read the answer.
    this.conversationId = conversationId ?? crypto.randomUUID();
    this.headers = headers;
    this.patience = patience;
    this.onProgress = onProgress; // called with {state, ahead} or {state, percent} while nothing comes
    this.bytes = 0;
    this.connections = 0;
    this.isSent = conversationId !== undefined;
    this.crc = new Crc32();
    this.tail = new Uint8Array(); // the newest bytes, which may be the beginning of the last line
    this.abort = new AbortController();
  }

  /** End the generation on the server. */
  async stop() {
    await fetch(this.url(), { method: "DELETE", headers: this.headers });
  }

  /** Stop reading; the generation goes on, and can be read by its conversationId. */
  leave() {
    this.abort.abort();
  }

  async *[Symbol.asyncIterator]() {
    const decoder = new TextDecoder();
    let text = "", lastNews = Date.now(), delay = 100;
    for (;;) {
      try {
        for await (const piece of this.pieces()) {
          lastNews = Date.now();
          delay = 100;
          text += decoder.decode(piece, { stream: true });
          const blocks = text.split("\n\n");
          text = blocks.pop();
          for (const block of blocks) yield* this.events(block);
          if (this.isWhole()) return;
        }
      } catch (error) {
        if (error instanceof StreamError || this.abort.signal.aborted) throw error;
        if (Date.now() - lastNews > this.patience) throw error;
      }
      await new Promise((done) => setTimeout(done, delay));
      delay = Math.min(2 * delay, 5000);
    }
  }

  *events(block) {
    for (const line of block.split("\n")) {
      // While the prompt is computed, this is how far it is.
      if (line.startsWith(": {") && this.onProgress) this.onProgress(JSON.parse(line.slice(2)));
      if (!line.startsWith("data: ") || line === "data: [DONE]") continue;
      const event = JSON.parse(line.slice(6));
      if (event.error) throw new StreamError(event.error.message);
      yield event;
    }
  }

  async *pieces() {
    this.connections += 1;
    const response = await (this.isSent ? this.get() : this.post());
    if (LATER.includes(response.status)) throw new Error(await response.text());
    if (!response.ok) throw new StreamError(`${response.status}: ${await response.text()}`);
    this.isSent = true;
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      this.bytes += value.length;
      this.count(value);
      yield value;
    }
  }

  url(query = "") {
    return `${this.server}/v1/stream/${encodeURIComponent(this.conversationId)}${query}`;
  }

  get() {
    const { headers, abort: { signal } } = this;
    return fetch(this.url(`?from=${this.bytes}`), { headers, signal });
  }

  post() {
    const names = { "X-Conversation-Id": this.conversationId, "Idempotency-Key": this.conversationId };
    return fetch(this.server + this.path, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...names, ...this.headers },
      body: this.body,
      signal: this.abort.signal,
    });
  }

  /** Take in all but what may become the last line. */
  count(piece) {
    const bytes = new Uint8Array(this.tail.length + piece.length);
    bytes.set(this.tail);
    bytes.set(piece, this.tail.length);
    const found = lastLine(bytes);
    const keep = found < 0 ? Math.max(0, bytes.length - 7) : found;
    this.crc.add(bytes.subarray(0, keep));
    this.tail = bytes.subarray(keep);
  }

  isWhole() {
    const found = END.exec(new TextDecoder().decode(this.tail));
    if (!found) return false;
    if (Number(found[1]) !== this.crc.bytes || parseInt(found[3], 16) !== this.crc.value()) {
      throw new StreamError("bytes are missing, or changed on their way");
    }
    return true;
  }
}

/** Where "\n: end " begins, less its line break; -1: nowhere. */
function lastLine(bytes) {
  const mark = [10, 58, 32, 101, 110, 100, 32];
  for (let at = bytes.length - mark.length; at >= 0; at--) {
    if (mark.every((byte, i) => bytes[at + i] === byte)) return at + 1;
  }
  return -1;
}

class Crc32 {
  static table = Uint32Array.from({ length: 256 }, (_, n) => {
    for (let bit = 0; bit < 8; bit++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
    return n;
  });

  bytes = 0;
  state = 0xffffffff;

  add(bytes) {
    this.bytes += bytes.length;
    for (const byte of bytes) this.state = Crc32.table[(this.state ^ byte) & 255] ^ (this.state >>> 8);
  }

  value() {
    return (this.state ^ 0xffffffff) >>> 0;
  }
}
