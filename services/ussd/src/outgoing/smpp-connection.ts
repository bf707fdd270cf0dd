import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import smpp, { PDU, type Pdu } from 'smpp';
import type { SmppOptions } from '../smpp-options.ts';

const { errors } = smpp;
const responseMs = 10_000;
const unbindMs = 1_000;
/** Messages of the SMSC that are handled at once; it delivers the others again. */
const maxDelivering = 10_000;
const headerBytes = 16;
const maxPduBytes = 16_384;
const responseBit = 0x80000000;
const invalidCommand = errors.ESME_RINVCMDID ?? 3;
const invalidLength = errors.ESME_RINVCMDLEN ?? 2;
/** A permanent error: the SMSC does not deliver the message again. */
const unreadable = errors.ESME_RX_P_APPN ?? 0x65;
const busy = errors.ESME_RTHROTTLED ?? 0x58;
export const statusNames = new Map(Object.entries(errors).map(([name, status]) => [status, name]));
const deliveries = new Map([
  [0x5, 'deliver_sm_resp'],
  [0x103, 'data_sm_resp'],
]);

type Response = Pdu | 'unsent' | 'unanswered';

export type Connection = Awaited<ReturnType<typeof openConnection>>;

export async function openConnection(
  options: SmppOptions,
  deliver: (pdu: Pdu) => Promise<number>,
  signal: AbortSignal,
) {
  const socket = await openSocket(options, signal);
  const pending = new Map<number, (response: Response) => void>();
  let sequence = 0;
  let delivering = 0;
  const write = (pdu: Pdu) => socket.writable && socket.write(pdu.toBuffer());

  const request = (command: string, fields: object) =>
    new Promise<Response>((resolve) => {
      if (!socket.writable) return resolve('unsent');
      const number = ++sequence;
      // Nothing else distinguishes a dead link from a slow one.
      const timer = setTimeout(() => socket.destroy(), responseMs);
      pending.set(number, (response) => {
        pending.delete(number);
        clearTimeout(timer);
        resolve(response);
      });
      write(new PDU(command, { ...fields, sequence_number: number }));
    });

  async function take(bytes: Buffer): Promise<unknown> {
    const [id, sequence_number] = [bytes.readUInt32BE(4), bytes.readUInt32BE(12)];
    const pdu = parsePdu(bytes);
    if (id >= responseBit) return pdu ? pending.get(sequence_number)?.(pdu) : socket.destroy();
    const delivery = deliveries.get(id);
    // Not `response()`: some commands have none, and the library throws for those.
    const respond = (command: string, command_status = 0) =>
      write(new PDU(command, { command_status, sequence_number }));
    if (!pdu) return respond(delivery ?? 'generic_nack', delivery ? unreadable : invalidLength);
    if (pdu.command === 'enquire_link') return respond('enquire_link_resp');
    if (pdu.command === 'unbind') {
      respond('unbind_resp');
      return socket.end();
    }
    if (!delivery) return respond('generic_nack', invalidCommand);
    if (delivering >= maxDelivering) return respond(delivery, busy);
    delivering += 1;
    const status = await deliver(pdu);
    delivering -= 1;
    return respond(delivery, status);
  }

  async function read(): Promise<string | undefined> {
    try {
      for await (const bytes of readPdus(socket)) {
        void take(bytes);
        // An SMSC that reads no responses is not read from either.
        if (socket.writableNeedDrain) await Promise.race([once(socket, 'drain'), closing]);
      }
      return undefined;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    } finally {
      socket.destroy();
    }
  }

  const closing = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.on('error', () => undefined);
  const reading = read();
  const closed = closing.then(() => {
    clearInterval(enquiring);
    for (const settle of pending.values()) settle('unanswered');
    return reading;
  });
  const enquiring = setInterval(() => void request('enquire_link', {}), options.enquireMs);

  const response = await request('bind_transceiver', {
    system_id: options.systemId,
    password: options.password,
    system_type: options.systemType,
    interface_version: 0x34,
  });
  if (typeof response === 'string' || response.command_status !== 0) {
    socket.destroy();
    const status = typeof response === 'string' ? response : statusNames.get(response.command_status);
    throw new Error(`the bind was refused: ${status ?? response}`);
  }
  return {
    /** Resolves to the reason. */
    closed,
    request,
    async unbind() {
      await Promise.race([request('unbind', {}), sleep(unbindMs, undefined, { ref: false })]);
      socket.destroy();
    },
  };
}

async function* readPdus(socket: Socket): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of socket) {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= headerBytes) {
      const length = rest.readUInt32BE(0);
      if (length < headerBytes || length > maxPduBytes) throw new Error(`the SMSC sent a PDU of ${length} bytes`);
      if (rest.length < length) break;
      yield rest.subarray(0, length);
      rest = rest.subarray(length);
    }
  }
}

/** `undefined` where its body contradicts itself, for which the library throws: phones write parts of it. */
function parsePdu(bytes: Buffer): Pdu | undefined {
  try {
    return new PDU(bytes);
  } catch {
    return undefined;
  }
}

function openSocket({ host, port, isTls }: SmppOptions, signal: AbortSignal): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = isTls ? connectTls({ host, port, servername: host }) : connectTcp({ host, port });
    const fail = (error: Error) => {
      socket.destroy();
      reject(error);
    };
    const end = () => fail(new Error('the service ends'));
    signal.addEventListener('abort', end, { once: true });
    socket.once('close', () => signal.removeEventListener('abort', end));
    socket.setTimeout(responseMs, () => fail(new Error('no answer in time')));
    socket.once('error', fail);
    socket.once(isTls ? 'secureConnect' : 'connect', () => {
      socket.setTimeout(0);
      socket.setNoDelay(true);
      socket.off('error', fail);
      resolve(socket);
    });
  });
}
