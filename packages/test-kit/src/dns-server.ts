import { createSocket } from 'node:dgram';
import { once } from 'node:events';

export interface TestDnsServer extends AsyncDisposable {
  /** `127.0.0.1:port`, as name servers are configured. */
  address: string;
  /** Every name asked for so far, once. */
  names(): string[];
}

const headerBytes = 12;

/** A name server over UDP. It answers A questions with `addressOf`; without it, or where that gives none, it is silent. */
export async function startDnsServer(
  addressOf: (name: string) => string | undefined = () => undefined,
): Promise<TestDnsServer> {
  const asked = new Set<string>();
  const socket = createSocket('udp4');
  socket.on('message', (query, { address, port }) => {
    const { name, type, end } = readQuestion(query);
    asked.add(name);
    const found = addressOf(name);
    if (found === undefined) return;
    const answer = type === 1 ? toRecord(found) : Buffer.alloc(0);
    const header = Buffer.from(query.subarray(0, headerBytes));
    header.writeUInt16BE(0x8180, 2);
    header.writeUInt16BE(answer.length > 0 ? 1 : 0, 6);
    header.fill(0, 8);
    socket.send(Buffer.concat([header, query.subarray(headerBytes, end), answer]), port, address);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    names: () => [...asked],
    async [Symbol.asyncDispose]() {
      socket.close();
      await once(socket, 'close');
    },
  };
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = headerBytes;
  while (query[at]) {
    const length = query[at] as number;
    labels.push(query.toString('ascii', at + 1, at + 1 + length));
    at += length + 1;
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** An A record of the name in the question, valid for a minute. */
function toRecord(address: string): Buffer {
  const start = Buffer.from([0xc0, headerBytes, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
  return Buffer.concat([start, Buffer.from(address.split('.').map(Number))]);
}
