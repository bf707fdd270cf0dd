import { waitFor } from '@palaver/test-kit';
import { createServer, type Pdu, type Session } from 'smpp';

export interface Smsc extends AsyncDisposable {
  url: string;
  /** Everything that was submitted, the screens of USSD included. */
  submitted: Pdu[];
  /** Every response to what it has sent. */
  responses: Pdu[];
  binds: number;
  /** What happens to the next submissions; they are accepted otherwise. */
  next: ('cut' | number)[];
  deliver(fields: object): Promise<Pdu>;
  /** Delivers an input and waits for its screen. */
  press(fields: object): Promise<string>;
  /** The same for a text message. */
  text(fields: object): Promise<string>;
  write(bytes: Buffer): void;
  cut(): void;
}

/** An SMSC and USSD centre of the package that the service uses too; it breaks links on demand. */
export async function startSmsc(): Promise<Smsc> {
  const sessions = new Set<Session>();
  const state: Smsc = {
    url: '',
    submitted: [],
    responses: [],
    binds: 0,
    next: [],
    async deliver(fields) {
      const session = await waitFor('a bind', () => [...sessions][0]);
      const number = { source_addr: '254700000001', source_addr_ton: 1, destination_addr: '1234' };
      const info = 'ussd_service_op' in fields && { its_session_info: Buffer.from([7, 0]) };
      return new Promise((resolve) => session.deliver_sm({ ...number, ...info, ...fields }, resolve));
    },
    press: (fields) => state.text({ ussd_service_op: 18, ...fields }),
    async text(fields) {
      const before = state.submitted.length;
      const { command_status } = await state.deliver(fields);
      if (command_status !== 0) throw new Error(`the input was refused with ${command_status}`);
      const screen = await waitFor('the screen', () => state.submitted[before], 15_000);
      return String(screen.short_message?.message);
    },
    write(bytes) {
      for (const session of sessions) session.socket.write(bytes);
    },
    cut() {
      for (const session of sessions) session.socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      state.cut();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  const server = createServer((session) => {
    session.on('error', () => undefined);
    session.on('close', () => sessions.delete(session));
    session.on('pdu', (pdu) => {
      if (pdu.isResponse()) return void state.responses.push(pdu);
      if (pdu.command === 'bind_transceiver') {
        state.binds += 1;
        const isKnown = pdu.password === 'sec,ret';
        session.send(pdu.response({ command_status: isKnown ? 0 : 0x0e, system_id: 'smsc' }));
        if (isKnown) sessions.add(session);
      } else if (pdu.command === 'submit_sm') {
        const next = state.next.shift();
        if (next === 'cut') return session.socket.destroy();
        if (next === undefined) state.submitted.push(pdu);
        session.send(pdu.response({ command_status: next ?? 0, message_id: String(state.submitted.length) }));
      } else session.send(pdu.response());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  state.url = `smpp://palaver:sec%2Cret@127.0.0.1:${port}?window=2`;
  return state;
}
