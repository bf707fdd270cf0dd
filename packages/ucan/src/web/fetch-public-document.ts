import { type DocumentRequest, type FetchedDocument, fetchDocument } from '../did/fetch-document.ts';

export interface PublicDocumentRequest extends DocumentRequest {
  /** Whether the host may have a private address. A browser keeps its own rules about these. */
  readonly allowPrivate: boolean;
  /** Name servers instead of the machine's; a browser asks its own. */
  readonly dnsServers?: readonly string[];
}

export function fetchPublicDocument({ url, timeoutMs }: PublicDocumentRequest): Promise<FetchedDocument> {
  return fetchDocument({ url, timeoutMs });
}
