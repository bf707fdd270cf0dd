import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect } from 'react';
import { type Answer, askGateway, toBody } from './ask-gateway.ts';
import type { Claim } from './protocol.ts';

export interface ClaimPages {
  claims: Claim[];
  /** Of the page that was read last. */
  answer: Answer | undefined;
  error: Error | null;
  hasMore: boolean;
  isReading: boolean;
  loadMore(): void;
}

interface ClaimPage {
  claims?: Claim[];
  pagination?: { next_key?: string | null };
}

const pageSize = 100;
const wantedRows = 25;

/**
 * The claims that are wanted. The protocol filters by nothing, so the node is asked page by page until there are enough; more are
 * read when somebody asks.
 */
export function useClaims(path: string | undefined, isWanted: (claim: Claim) => boolean): ClaimPages {
  const query = useInfiniteQuery({
    queryKey: ['claims', path],
    enabled: path !== undefined,
    initialPageParam: '',
    queryFn: async ({ pageParam }) => {
      const key = pageParam && `&pagination.key=${encodeURIComponent(pageParam)}`;
      const answer = await askGateway({ target: `${path}?pagination.limit=${pageSize}${key}`, headers: {} });
      return { answer, body: toBody<ClaimPage>(answer) };
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
