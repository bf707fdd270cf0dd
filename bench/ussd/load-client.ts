// A telecom gateway that sends as fast as it gets answers. Runs as a process of its own and prints one line of JSON.
// Raw sockets instead of an HTTP library: the client must cost little, or it would be what is measured.
import { connect, type Socket } from 'node:net';

interface LoadOptions {
  port: number;
  path?: string;
  connections: number;
  seconds: number;
  /** The texts of one session, one request each. */
  texts: string[];
  /** Ends after this many sessions instead of after `seconds`. */
  sessions?: number;
  prefix: string;
}

const options = JSON.parse(process.argv[2] ?? '{}') as LoadOptions;
const { path = '/api/ussd' } = options;
const latencies: number[] = [];
let failures = 0;
let firstFailure = '';
let sessions = 0;
let requests = 0;
const deadline = performance.now() + options.seconds * 1000;
const isOver = () => (options.sessions === undefined ? performance.now() >= deadline : sessions >= options.sessions);

function toRequest(session: number, text: string): string {
  const phoneNumber = `+2547${String(session).padStart(8, '0')}`;
  const body = JSON.stringify({ sessionId: `${options.prefix}-${session}`, serviceCode: '*1234#', phoneNumber, text });
  return `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/** Resolves with the whole response once its body is complete. */
function createAsk(socket: Socket): (request: string) => Promise<string> {
  let received = '';
  let resolve: (response: string) => void = () => {};
  socket.setNoDelay(true).setEncoding('latin1');
  socket.on('data', (chunk: string) => {
    received += chunk;
    const head = received.indexOf('\r\n\r\n');
    if (head < 0) return;
    const length = Number(/content-length: (\d+)/i.exec(received)?.[1]);
    if (received.length < head + 4 + length) return;
    const response = received;
    received = '';
    resolve(response);
  });
  return (request) =>
    new Promise((done, fail) => {
      resolve = done;
      socket.once('error', fail);
      socket.write(request, () => socket.off('error', fail));
    });
}

async function run(): Promise<void> {
  const socket = connect(options.port, '127.0.0.1');
  await new Promise((resolve) => socket.once('connect', resolve));
  const ask = createAsk(socket);
  while (!isOver()) {
    const session = sessions++;
    for (const text of options.texts) {
      const started = performance.now();
      const response = await ask(toRequest(session, text));
      latencies.push(performance.now() - started);
      requests += 1;
      const isGood = response.startsWith('HTTP/1.1 200') && /\r\n\r\n(CON|END) (?!Invalid|Service temp)/.test(response);
      if (!isGood) {
        failures += 1;
        firstFailure ||= response;
      }
    }
  }
  socket.destroy();
}

const started = performance.now();
await Promise.all(Array.from({ length: options.connections }, run));
const seconds = (performance.now() - started) / 1000;
latencies.sort((a, b) => a - b);
const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
const result = { perSecond: requests / seconds, p50: at(0.5), p99: at(0.99), requests, failures, firstFailure };
process.stdout.write(`${JSON.stringify(result)}\n`);
