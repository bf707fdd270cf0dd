import { toGrpcCode } from '@palaver/contract/internal';
import { loadCertificates } from '../load-certificates.ts';
import { createUpstream } from '../upstream/upstream.ts';

const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
/** `list_services` of a reflection request. */
const listServices = Uint8Array.from([0x3a, 0]);
const timeoutMs = 5_000;

/** Calls a node as the gateway would. Returns undefined if it answers, otherwise the cause in a sentence. */
export async function checkNode(address: string, caFile?: string): Promise<string | undefined> {
  let cause: string | undefined;
  const upstream = createUpstream({
    addresses: [address],
    ca: await loadCertificates(caFile),
    onDown: (_address, error) => (cause = error.message),
  });
  try {
    const answer = await upstream.call({ path, body: listServices, metadata: {}, timeoutMs });
    // A node without reflection answers too.
    if (answer.ok || answer.code === toGrpcCode('UNIMPLEMENTED')) return undefined;
    return `${address}: ${cause ?? answer.message}`;
  } finally {
    upstream.close();
  }
}
