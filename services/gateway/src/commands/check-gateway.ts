import { heightHeader, toGrpcCode } from '@palaver/contract/internal';
import { fetchBounded } from '@palaver/service-kit/internal';
import { reflectionVersions, toReflectionPath } from '../descriptors/load-reflection.ts';
import { loadCertificates } from '../extensions.ts';
import { createUpstream } from '../upstream/upstream.ts';

interface CheckOptions {
  own: string;
  other: string;
  templates: string[];
  /** Values for variables by name; a variable without one gets a text that matches nothing. */
  values?: Record<string, string>;
}

interface CheckRow {
  path: string;
  own: number | 'unreachable';
  other: number | 'unreachable';
  verdict: 'same' | 'status differs' | 'bytes differ' | 'unreachable';
}

const unlikely = 'palaver-check';
const timeoutMs = 15_000;
const maxBytes = 16 * 1024 * 1024;

/** One row per template. Answers are compared byte by byte, errors by their status: their bodies differ by design. */
export async function checkGateway({ own, other, templates, values = {} }: CheckOptions): Promise<CheckRow[]> {
  const rows: CheckRow[] = [];
  for (const template of templates) {
    const path = fillTemplate(template, values);
    const first = await ask(own + path);
    // The same height for both, so that a new block in between does not make them differ.
    const theirs = await ask(other + path, first?.height);
    const ours = first?.height === undefined ? first : await ask(own + path, first.height);
    rows.push({
      path,
      own: ours?.status ?? 'unreachable',
      other: theirs?.status ?? 'unreachable',
      verdict: compareReplies(ours, theirs),
    });
  }
  return rows;
}

function compareReplies(ours: Reply | undefined, theirs: Reply | undefined): CheckRow['verdict'] {
  if (!ours || !theirs) return 'unreachable';
  if (ours.status !== theirs.status) return 'status differs';
  return ours.status === 200 && ours.body !== theirs.body ? 'bytes differ' : 'same';
}

interface Reply {
  status: number;
  body: string;
  height: string | undefined;
}

async function ask(url: string, height?: string): Promise<Reply | undefined> {
  try {
    const headers = height === undefined ? {} : { [heightHeader]: height };
    const response = await fetchBounded(url, { headers, timeoutMs, maxBytes, redirect: 'follow' });
    return {
      status: response.status,
      body: await response.text(),
      height: response.headers.get(`grpc-metadata-${heightHeader}`) ?? undefined,
    };
  } catch {
    return undefined;
  }
}

function fillTemplate(template: string, values: Record<string, string>): string {
  return template.replace(/\{([^=}]+)(?:=([^}]*))?\}/g, (_match, name: string, pattern = '*') =>
    values[name] === undefined
      ? pattern.replace(/\*+/g, unlikely)
      : values[name].split('/').map(encodeURIComponent).join('/'),
  );
}

/** `list_services` of a reflection request. */
const listServices = Uint8Array.from([0x3a, 0]);
const nodeTimeoutMs = 5_000;

export interface CheckNodeOptions {
  caFile?: string | undefined;
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
      const answer = await upstream.call({ path, body: listServices, metadata: {}, timeoutMs: nodeTimeoutMs });
      if (answer.ok) return undefined;
      const lacksReflection = answer.fault === undefined && answer.code === toGrpcCode('UNIMPLEMENTED');
      if (!lacksReflection) return `${address}: ${cause ?? answer.message}`;
    }
    return hasDescriptors ? undefined : `${address}: it has no gRPC reflection, so GATEWAY_DESCRIPTORS is needed`;
  } finally {
    upstream.close();
  }
}
