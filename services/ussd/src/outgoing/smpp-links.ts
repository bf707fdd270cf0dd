import type { Logger } from '@palaver/service-kit';
import smpp from 'smpp';
import type { SmppOptions } from '../smpp-options.ts';
import { type OnDeliver, type SmppLink, startSmppLink } from './smpp-link.ts';
import { toAddress, toMessages } from './smpp-text.ts';
import type { SmsProvider } from './sms-provider.ts';

/** Until an SMSC is back the outbox waits, not the message. */
const firstPartMs = 5_000;
/** The parts after the first must follow: a message is not begun twice. */
const laterPartMs = 20_000;

export function startSmppLinks(all: readonly SmppOptions[], logger: Logger) {
  let receiver: OnDeliver = async () => smpp.errors.ESME_RTHROTTLED ?? 0x58;
  let turn = 0;
  const links = all.map((options) => startSmppLink(options, { onDeliver: (pdu, link) => receiver(pdu, link), logger }));
  const choose = (): SmppLink | undefined => {
    const bound = links.filter((link) => link.isBound());
    turn += 1;
    return bound[turn % bound.length];
  };
  return {
    /** Handles what SMSCs deliver; until then they are asked to try again. */
    receive(onDeliver: OnDeliver) {
      receiver = onDeliver;
    },
    choose,
    countBound: () => links.filter((link) => link.isBound()).length,
    toProvider: (from: string | undefined): SmsProvider => ({
      // An SMSC does not recognise a message that is submitted again.
      isIdempotent: false,
      async send({ to, text }) {
        const link = choose();
        if (!link) return { ok: false, kind: 'again', fault: 'no SMSC is connected' };
        const source = from === undefined ? undefined : toAddress(from);
        const target = toAddress(to);
        const parts = toMessages(text);
        let reference = '';
        for (const [i, part] of parts.entries()) {
          const fields = {
            ...(source && { source_addr: source.addr, source_addr_ton: source.ton, source_addr_npi: source.npi }),
            destination_addr: target.addr,
            dest_addr_ton: target.ton,
            dest_addr_npi: target.npi,
            registered_delivery: 1,
            ...part,
          };
          const deadlineMs = i === 0 ? firstPartMs : laterPartMs;
          const sent = await link.submit(fields, { deadlineMs, isRepeatable: false });
          if (sent.ok) {
            // Of the last part: a message has arrived when all of it has.
            reference = sent.messageId;
            continue;
          }
          if (i === 0) return sent;
          const fault = `part ${i + 1} of ${parts.length}: ${sent.fault}`;
          return { ok: false, kind: sent.kind === 'refused' ? 'refused' : 'unknown', fault };
        }
        return { ok: true, reference };
      },
    }),
    async stop() {
      await Promise.all(links.map((link) => link.stop()));
    },
  };
}
