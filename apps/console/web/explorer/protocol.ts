import { t } from '../i18n/text.ts';

/** The parts of the protocol's answers that the pages read. Everything is optional: deployments differ in version. */
export interface Entity {
  id: string;
  type?: string;
  start_date?: string | null;
  end_date?: string | null;
  entity_verified?: boolean;
  relayer_node?: string;
  accounts?: { name: string; address: string }[];
  metadata?: { created?: string; updated?: string };
}

export interface IidDocument {
  controller?: string[];
  service?: { id: string; type: string; serviceEndpoint: string }[];
  linkedResource?: { id: string; type: string; description?: string; mediaType?: string; serviceEndpoint?: string }[];
  linkedEntity?: { id: string; type: string; relationship?: string }[];
}

export interface Collection {
  id: string;
  entity?: string;
  protocol?: string;
  start_date?: string;
  end_date?: string | null;
  quota?: string;
  count?: string;
  evaluated?: string;
  approved?: string;
  rejected?: string;
  disputed?: string;
  state?: string;
}

export interface Claim {
  claim_id: string;
  collection_id: string;
  agent_did?: string;
  submission_date?: string;
  evaluation?: { status?: string; oracle?: string; evaluation_date?: string; agent_address?: string } | null;
}

export interface Token {
  name: string;
  description?: string;
  contract_address: string;
  class?: string;
  type?: string;
  cap?: string;
  supply?: string;
  paused?: boolean;
  stopped?: boolean;
  retired?: { id: string; reason: string; amount: string; jurisdiction?: string; owner: string }[];
  cancelled?: { id: string; reason: string; amount: string; owner: string }[];
}

export function shorten(id: string): string {
  const tail = id.split(':').at(-1) ?? id;
  return tail.length > 16 ? `${id.slice(0, id.length - tail.length)}${tail.slice(0, 6)}…${tail.slice(-4)}` : id;
}

const words = [
  ...(['APPROVED', 'REJECTED', 'DISPUTED', 'INVALIDATED', 'PENDING'] as const),
  ...(['OPEN', 'PAUSED', 'CLOSED'] as const),
];

/** The outcome of a claim or the state of a collection in the language shown; one that is not known is shown unchanged. */
export function toWord(state: string | undefined): string {
  const known = words.find((word) => word === state);
  return known ? t(`explorer.${known}`) : (state ?? '').toLowerCase();
}
