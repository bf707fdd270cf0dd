import { toGrpcCode } from '@palaver/contract/internal';
import { reflectionVersions, toReflectionPath } from '../descriptors/load-reflection.ts';
import { loadCertificates } from '../load-certificates.ts';
import { createUpstream } from '../upstream/upstream.ts';

/** `list_services` of a reflection request. */
const listServices = Uint8Array.from([0x3a, 0]);
const timeoutMs = 5_000;

export interface CheckNodeOptions {
  caFile?: string | undefined;
  /** Whether the gateway has descriptors and so needs no reflection. */
  hasDescriptors?: boolean;
}

/** Calls a node as the gateway would. Returns undefined if it answers, otherwise the cause in a sentence. */
export async function checkNode(
  address: string,
  { caFile, hasDescriptors = false }: CheckNodeOptions = {},
): Promise<string | undefined> {
  let cause: string | undefined;
  const upstream = createUpstream({
    addresses: [address],
    ca: await loadCertificates(caFile),
    onDown: (_address, error) => (cause = error.message),
  });
  try {
    for (const version of reflectionVersions) {
      const path = toReflectionPath(version);
      const answer = await upstream.call({ path, body: listServices, metadata: {}, timeoutMs });
      if (answer.ok) return undefined;
      const lacksReflection = answer.fault === undefined && answer.code === toGrpcCode('UNIMPLEMENTED');
      if (!lacksReflection) return `${address}: ${cause ?? answer.message}`;
    }
    return hasDescriptors ? undefined : `${address}: it has no gRPC reflection, so GATEWAY_DESCRIPTORS is needed`;
  } finally {
    upstream.close();
  }
}
