import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import { t } from '../i18n/text.ts';
import { askGateway, toBody, useAnswer, usePaths } from './gateway.ts';

/** Everything that the pages read is optional: deployments differ in version. */
export interface Entity {
  id: string;
  type?: string;
  start_date?: string | null;
  end_date?: string | null;
  entity_verified?: boolean;
  accounts?: { name: string; address: string }[];
}

export interface IidDocument {
  service?: { id: string; type: string; serviceEndpoint: string }[];
  linkedResource?: { id: string; type: string; description?: string; mediaType?: string; serviceEndpoint?: string }[];
  linkedEntity?: { id: string; type: string; relationship?: string }[];
}

export interface Collection {
  id: string;
  entity?: string;
  start_date?: string;
  end_date?: string | null;
  quota?: string;
  count?: string;
  approved?: string;
  rejected?: string;
  disputed?: string;
  state?: string;
}

export interface Claim {
  claim_id: string;
  collection_id: string;
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

export const outcomes = ['APPROVED', 'REJECTED', 'DISPUTED', 'INVALIDATED', 'PENDING'] as const;

export function shorten(id: string): string {
  const tail = id.split(':').at(-1) ?? id;
  return tail.length > 16 ? `${id.slice(0, id.length - tail.length)}${tail.slice(0, 6)}…${tail.slice(-4)}` : id;
}

const words = [...outcomes, 'OPEN', 'PAUSED', 'CLOSED'] as const;

export function toWord(state: string | undefined): string {
  const known = words.find((word) => word === state);
  return known ? t(`explorer.${known}`) : (state ?? '').toLowerCase();
}

const pageSize = 100;
const wantedRows = 25;

/** The protocol filters by nothing, so pages are read until there are enough rows; more are read on request. */
export function useClaims(path: string | undefined, isWanted: (claim: Claim) => boolean) {
  const query = useInfiniteQuery({
    queryKey: ['claims', path],
    enabled: path !== undefined,
    initialPageParam: '',
    queryFn: async ({ pageParam }) => {
      const key = pageParam && `&pagination.key=${encodeURIComponent(pageParam)}`;
      const answer = await askGateway({ target: `${path}?pagination.limit=${pageSize}${key}`, headers: {} });
      return { answer, body: toBody<{ claims?: Claim[]; pagination?: { next_key?: string | null } }>(answer) };
    },
    getNextPageParam: ({ body }) => body.pagination?.next_key || undefined,
  });
  const { data, error, hasNextPage, isFetching, fetchNextPage } = query;
  const claims = (data?.pages ?? []).flatMap(({ body }) => body.claims ?? []).filter(isWanted);
  const needsMore = claims.length < wantedRows && hasNextPage && !isFetching && !error;
  useEffect(() => {
    if (needsMore) void fetchNextPage();
  }, [needsMore, fetchNextPage]);
  return {
    claims,
    answer: data?.pages.at(-1)?.answer,
    error,
    hasMore: hasNextPage,
    isReading: isFetching,
    loadMore: () => void fetchNextPage(),
  };
}

export type ClaimPages = ReturnType<typeof useClaims>;

type NamedDocument = IidDocument & { id: string };

const maxDocuments = 500;

export const toEntityPath = (id: string) => `/explorer?page=entities&id=${encodeURIComponent(id)}`;

export function useEntityNames(): ReadonlyMap<string, string> {
  const [path] = usePaths('/did/dids');
  const target = path && `${path}?pagination.limit=${maxDocuments}`;
  const documents = useAnswer<{ iidDocuments?: NamedDocument[] }>(target).data?.body.iidDocuments;
  return useMemo(() => {
    const named = (documents ?? []).map((document) => [document.id, toName(document) ?? ''] as const);
    return new Map(named.filter(([, name]) => name !== ''));
  }, [documents]);
}

export function toName(document: IidDocument | undefined): string | undefined {
  const resources = document?.linkedResource ?? [];
  return (resources.find(({ id }) => id.endsWith('#profile')) ?? resources[0])?.description;
}

/** The page that shows what a text identifies; undefined for what may be a name. */
export function findTarget(text: string): string | undefined {
  const value = text.trim();
  const to = (page: string, name: string) => `/explorer?page=${page}&${name}=${encodeURIComponent(value)}`;
  if (/^did:[a-z0-9]+:\S+$/.test(value)) return to('entities', 'id');
  if (/^\d{1,15}$/.test(value)) return to('block', 'id');
  if (/^[0-9a-f]{64}$/i.test(value)) return to('tx', 'id');
  if (/^[a-z]{1,20}1[02-9ac-hj-np-z]{38,58}$/.test(value)) return to('account', 'id');
  // Claims are named by the CID of what they state.
  if (/^(?:bafy|bafk|Qm|z)[a-zA-Z0-9]{20,100}$/.test(value)) return to('claim', 'id');
  return undefined;
}
