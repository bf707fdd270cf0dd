import { useMemo } from 'react';
import { useAnswer } from './ask-gateway.ts';
import type { IidDocument } from './protocol.ts';
import { findPath, type Route } from './routes.ts';

type NamedDocument = IidDocument & { id: string };

const maxDocuments = 500;

export const toEntityPath = (id: string) => `/explorer?page=entities&id=${encodeURIComponent(id)}`;

/** The names of entities by their DIDs, from the documents of the node; without names where the gateway does not serve them. */
export function useEntityNames(routes: Route[]): ReadonlyMap<string, string> {
  const path = findPath(routes, '/did/dids');
  const { data } = useAnswer(path && `${path}?pagination.limit=${maxDocuments}`);
  const documents = (data?.body as { iidDocuments?: NamedDocument[] } | undefined)?.iidDocuments;
  return useMemo(() => {
    const named = (documents ?? []).map((document) => [document.id, toName(document)] as const);
    return new Map(named.filter((pair): pair is [string, string] => pair[1] !== undefined));
  }, [documents]);
}

/** What an entity is called: the description of its profile, or of the first thing it is linked to. */
export function toName(document: IidDocument | undefined): string | undefined {
  const resources = document?.linkedResource ?? [];
  return (resources.find(({ id }) => id.endsWith('#profile')) ?? resources[0])?.description;
}
