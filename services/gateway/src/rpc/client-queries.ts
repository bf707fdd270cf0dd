/** Counts the different queries that each client has subscribed to. */
export interface ClientQueries {
  /** Counts a subscription. Returns the function that gives it back, or undefined at the client's limit. */
  take(client: string, query: string): (() => void) | undefined;
}

export function createClientQueries(perClient: number): ClientQueries {
  const clients = new Map<string, Map<string, number>>();
  return {
    take(client, query) {
      const queries = clients.get(client) ?? new Map<string, number>();
      const count = queries.get(query) ?? 0;
      if (count === 0 && queries.size >= perClient) return undefined;
      clients.set(client, queries.set(query, count + 1));
      return () => {
        const left = (queries.get(query) ?? 0) - 1;
        if (left > 0) queries.set(query, left);
        else queries.delete(query);
        if (queries.size === 0) clients.delete(client);
      };
    },
  };
}
