import { z } from 'zod';
import type { GatewayClient, GatewayFault } from './gateway-client.ts';
import type { Read } from './read-chain.ts';

const documentSchema = z.object({
  iidDocument: z.object({
    verificationMethod: z.array(z.object({ blockchainAccountID: z.string().nullish() })).default([]),
  }),
});

// Where a DID receives coins, not whose coins it may spend: anyone may write any account into a document.
export async function findAddress(
  gateway: GatewayClient | undefined,
  did: string,
  given?: string,
): Promise<Read<{ address: string | undefined }>> {
  if (/^did:(?:key|web):/.test(did)) return { ok: true, address: given };
  if (!gateway) return { ok: true, address: undefined };
  const listed = await listAddresses(gateway, did);
  if (!listed.ok) return listed;
  const { addresses } = listed;
  return { ok: true, address: given === undefined ? addresses[0] : addresses.find((address) => address === given) };
}

export async function listAddresses(gateway: GatewayClient, did: string): Promise<Read<{ addresses: string[] }>> {
  const result = await gateway.get(`/ixo/did/dids/${encodeURIComponent(did).replaceAll('%3A', ':')}`);
  // A node refuses what is not a DID of the protocol; other faults say nothing about the DID.
  if (!result.ok && result.kind !== 'missing' && result.kind !== 'invalid') return result;
  const document = result.ok ? documentSchema.safeParse(result.value).data : undefined;
  const addresses = (document?.iidDocument.verificationMethod ?? []).flatMap(
    // Some documents write it as CAIP-10: `cosmos:ixo-5:ixo1…`.
    ({ blockchainAccountID: account }) => (account ? [account.slice(account.lastIndexOf(':') + 1)] : []),
  );
  return { ok: true, addresses };
}

const grantType = '/cosmos.authz.v1beta1.MsgGrant';
const addressPattern = /^ixo1[a-z0-9]{38,58}$/;
const maxAccounts = 10;

const messageSchema = z.object({
  '@type': z.string(),
  granter: z.string().optional(),
  grantee: z.string().optional(),
  grant: z.object({ authorization: z.object({ '@type': z.string(), msg: z.string().optional() }) }).optional(),
});
const searchSchema = z.object({
  txs: z.array(z.object({ body: z.object({ memo: z.string(), messages: z.array(z.unknown()) }) })),
  tx_responses: z.array(z.object({ code: z.number(), height: z.string() })),
});

// The account that lets the grantee send coins for a DID: its latest grant has the DID as memo, which only it can sign.
export async function findGranter(
  gateway: GatewayClient,
  { did, grantee, signal }: { did: string; grantee: string; signal: AbortSignal },
): Promise<{ ok: true; granter: string | undefined } | GatewayFault> {
  const listed = await listAddresses(gateway, did);
  if (!listed.ok) return listed;
  for (const granter of [...new Set(listed.addresses)]
    .filter((account) => addressPattern.test(account))
    .slice(0, maxAccounts)) {
    const query = `message.action='${grantType}' AND message.sender='${granter}'`;
    const result = await gateway.get('/cosmos/tx/v1beta1/txs', {
      query: { query, page: '1', limit: '20', order_by: 'ORDER_BY_DESC' },
      signal,
      timeoutMs: 10_000,
    });
    if (!result.ok) return result;
    const { txs, tx_responses: responses } = searchSchema.parse(result.value);
    const latest = txs
      .map(({ body }, index) => ({ ...body, response: responses[index] }))
      .filter(({ response }) => response?.code === 0)
      .toSorted((one, other) => Number(other.response?.height) - Number(one.response?.height))
      .find(({ messages }) => messages.some((message) => isSendGrant(message, granter, grantee)));
    if (latest?.memo === did) return { ok: true, granter };
  }
  return { ok: true, granter: undefined };
}

function isSendGrant(message: unknown, granter: string, grantee: string): boolean {
  const { data: found } = messageSchema.safeParse(message);
  if (found?.['@type'] !== grantType || found.granter !== granter || found.grantee !== grantee) return false;
  const { '@type': type, msg } = found.grant?.authorization ?? {};
  return type === '/cosmos.bank.v1beta1.SendAuthorization' || msg === '/cosmos.bank.v1beta1.MsgSend';
}
