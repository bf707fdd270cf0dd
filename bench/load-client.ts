// Clients that ask as fast as they are answered. Raw sockets, because an HTTP library would be what is measured.
import { once } from 'node:events';
import { connect } from 'node:net';

export interface LoadOptions {
  port: number;
  /** The requests of one dialogue as they are sent; `{n}` stands for the number of the dialogue, in eight digits. */
  requests: string[];
  /** What the beginning of a good answer matches; status 200 where it is not set. */
  expected?: string;
  connections: number;
  seconds: number;
  dialogues?: number;
  /** At most this many dialogues a second, of all connections together. */
  perSecond?: number;
}

export interface LoadResult {
  answers: number;
  failures: number;
  firstFailure: string;
  perSecond: number;
  p50: number;
  p99: number;
}

const options = JSON.parse(process.argv[2] ?? '{}') as LoadOptions;
const { port, requests, connections, dialogues = Number.POSITIVE_INFINITY, perSecond } = options;
const expected = new RegExp(options.expected ?? '^HTTP/1.1 200');
const shownBytes = 40;
const lastChunk = Buffer.from('0\r\n\r\n');
const latencies: number[] = [];
const started = performance.now();
const deadline = started + options.seconds * 1000;
let begun = 0;
let failures = 0;
let firstFailure = '';

async function run(): Promise<void> {
  const socket = connect(port, '127.0.0.1').setNoDelay(true);
  await once(socket, 'connect');
  let asked = performance.now();
  let missing = -1; // bytes of the answer still to come; negative before its head is there
  let left: string[] = [];
  const ask = () => {
    asked = performance.now();
    const early = perSecond && left.length === 0 ? started + (begun / perSecond) * 1000 - asked : 0;
    if (left.length === 0 && (asked >= deadline || begun >= dialogues)) socket.destroy();
    else if (early > 1) setTimeout(ask, early);
    else {
      if (left.length === 0) {
        const number = String(10_000_000 + begun);
        begun += 1;
        left = requests.map((request) => request.replaceAll('{n}', number));
      }
      socket.write(left.shift() ?? '');
    }
  };
  socket.on('data', (chunk: Buffer) => {
    if (missing < 0) {
      // The heads of these servers are short and come in one piece, with the beginning of the body.
      const body = chunk.indexOf('\r\n\r\n') + 4;
      const shown = chunk.toString('latin1', 0, body + shownBytes);
      if (!expected.test(shown)) {
        failures += 1;
        firstFailure ||= shown;
      }
      const length = /content-length: (\d+)/i.exec(shown)?.[1];
      missing = length === undefined ? Number.POSITIVE_INFINITY : body + Number(length);
    }
    missing -= chunk.length;
    // Without a length the body comes in chunks, of which the last is empty.
    if (missing === Number.POSITIVE_INFINITY ? !chunk.subarray(-5).equals(lastChunk) : missing > 0) return;
    latencies.push(performance.now() - asked);
    missing = -1;
    ask();
  });
  ask();
  await once(socket, 'close');
}

await Promise.all(Array.from({ length: connections }, run));
const seconds = (performance.now() - started) / 1000;
latencies.sort((a, b) => a - b);
const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0;
const answers = latencies.length - failures;
const result: LoadResult = {
  answers,
  failures,
  firstFailure,
  perSecond: answers / seconds,
  p50: at(0.5),
  p99: at(0.99),
};
process.stdout.write(`${JSON.stringify(result)}\n`);
