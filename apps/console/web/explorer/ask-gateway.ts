import { heightHeader } from '@palaver/contract/internal';
import { useQuery } from '@tanstack/react-query';
import { ServiceFault, toServicePath } from '../api/call-service.ts';
import { t } from '../i18n/text.ts';
import { type OpenApiDocument, type RequestParts, type Route, toRoutes } from './routes.ts';

export interface Answer {
  request: RequestParts;
  status: number;
  /** Milliseconds from the request to the end of the reply, as this page saw it. */
  ms: number;
  cache: string | null;
  height: string | null;
  requestId: string | null;
  bytes: number;
  text: string;
  body: unknown;
}

/** Asks the query gateway; refusals are answers too. */
export async function askGateway(request: RequestParts): Promise<Answer> {
  const started = performance.now();
  const response = await fetch(toServicePath('gateway', request.target), {
    headers: request.headers,
    cache: 'no-store',
  });
  const text = await response.text();
  const ms = performance.now() - started;
  const header = (name: string) => response.headers.get(name);
  return {
    request,
    status: response.status,
    ms,
    cache: header('x-cache'),
    height: header(heightHeader),
    requestId: header('x-request-id'),
    bytes: new TextEncoder().encode(text).length,
    text,
    body: parseJson(text),
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The body of an answer; anything but 200 is an error. */
export function toBody<Body>({ status, body, requestId }: Answer): Body {
  if (status === 200) return body as Body;
  const { message } = (body ?? {}) as { message?: string };
  if (message) throw new ServiceFault(status, message, requestId);
  throw new Error(t('explorer.answered', { status }));
}

/** An answer as data of a page; anything but 200 is an error. */
export function useAnswer(target: string | undefined) {
  return useQuery({
    queryKey: ['gateway', target],
    enabled: target !== undefined,
    queryFn: async () => {
      const answer = await askGateway({ target: target ?? '', headers: {} });
      toBody(answer);
      return answer;
    },
  });
}

/** The gateway's routes as they are now. */
export function useRoutes() {
  return useQuery({
    queryKey: ['gateway-routes'],
    staleTime: 30_000,
    retry: 5,
    retryDelay: 1_000,
    queryFn: async (): Promise<Route[]> => {
      const { status, body } = await askGateway({ target: '/openapi.json', headers: {} });
      if (status !== 200) throw new Error(t('explorer.noRoutes'));
      return toRoutes(body as OpenApiDocument);
    },
  });
}
