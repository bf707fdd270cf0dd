// Clients that ask as fast as they are answered, in a process of their own; prints one line of JSON. Raw sockets instead
// of an HTTP library: the client must cost little, or it would be what is measured.
import { once } from 'node:events';
import { connect } from 'node:net';

export interface LoadOptions {
  port: number;
  /** `{n}` stands for a number. */
  path: string;
  /** Whether the number is another in every request; otherwise it is always the same. */
  distinct: boolean;
  connections: number;
  seconds: number;
  /** At most this many requests. */
  requests?: number;
  /** At most this many requests a second, of all connections together. */
  perSecond?: number;
}

export interface LoadResult {
  answers: number;
  failures: number;
  perSecond: number;
  p50: number;
  p99: number;
}

const options = JSON.parse(process.argv[2] ?? '{}') as LoadOptions;
const lastChunk = Buffer.from('0\r\n\r\n');
const latencies: number[] = [];
const started = performance.now();
const deadline = started + options.seconds * 1000;
let sent = 0;
let failures = 0;

function nextRequest(): string {
  sent += 1;
  const path = options.path.replace('{n}', String(options.distinct ? 100_000 + (sent % 800_000) : 100_000));
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
}

async function run(): Promise<void> {
  const socket = connect(options.port, '127.0.0.1').setNoDelay(true);
  await once(socket, 'connect');
  let asked = performance.now();
  let missing = -1; // bytes of the answer still to come; negative before its head is there
  const ask = () => {
    asked = performance.now();
    const early = options.perSecond ? started + (sent / options.perSecond) * 1000 - asked : 0;
    if (asked >= deadline || sent >= (options.requests ?? Number.POSITIVE_INFINITY)) socket.destroy();
    else if (early > 1) setTimeout(ask, early);
    else socket.write(nextRequest());
  };
  socket.on('data', (chunk: Buffer) => {
    if (missing < 0) {
      // The heads of these servers are short and come in one piece.
      const body = chunk.indexOf('\r\n\r\n') + 4;
      const head = chunk.toString('latin1', 0, body);
      if (!head.startsWith('HTTP/1.1 200')) failures += 1;
      const length = /content-length: (\d+)/i.exec(head)?.[1];
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

await Promise.all(Array.from({ length: options.connections }, run));
const seconds = (performance.now() - started) / 1000;
latencies.sort((a, b) => a - b);
const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0;
const result: LoadResult = {
  answers: latencies.length - failures,
  failures,
  perSecond: (latencies.length - failures) / seconds,
  p50: at(0.5),
  p99: at(0.99),
};
process.stdout.write(`${JSON.stringify(result)}\n`);
