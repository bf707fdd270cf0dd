import type { DataCipher } from '@palaver/store';
import { type OutboxParts, type Sender, startOutbox } from '../outbox/outbox.ts';
import { sealedTables } from '../store/sealed-tables.ts';
import type { OpenRosaClient } from './openrosa-client.ts';

export interface SenderParts extends Omit<OutboxParts<'ussd_submission'>, 'table' | 'claimedStatus' | 'send'> {
  cipher: DataCipher;
  client: Pick<OpenRosaClient, 'send'>;
}

/**
 * Sends queued submissions until the server has them. One whose answer was lost is sent again: the server knows it by its
 * instance id, and keeps it once.
 */
export function startSender({ cipher, client, ...parts }: SenderParts): Sender {
  return startOutbox({
    ...parts,
    table: 'ussd_submission',
    claimedStatus: 'queued',
    async send(row) {
      const sent = await client.send(row.id, cipher.openRow(sealedTables.submission, row).xml);
      return sent.ok ? sent : { ok: false, fault: sent.fault, isFinal: sent.refused };
    },
  });
}
