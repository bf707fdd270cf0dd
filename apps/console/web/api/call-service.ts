import { lookUpPrefix } from '@palaver/contract/internal';
import { type UseQueryOptions, useQuery } from '@tanstack/react-query';
import { useSyncExternalStore } from 'react';

export type ServiceName = 'ussd-gateway' | 'agent' | 'gateway' | 'console';

export class ServiceFault extends Error {
  override readonly name = 'ServiceFault';
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

export function toServicePath(service: ServiceName, path: string): string {
  return service === 'console' ? path : `/api/${service}${path}`;
}

/** Throws a `ServiceFault` if the reply is not 2xx. */
export async function callService(service: ServiceName, path: string, init: RequestInit = {}): Promise<Response> {
  const { method = 'GET', headers } = init;
  const response = await fetch(toServicePath(service, path), {
    cache: 'no-store',
    ...init,
    headers: {
      ...(method === 'GET' && { 'x-request-id': `${lookUpPrefix}${Math.random().toString(36).slice(2)}` }),
      ...headers,
    },
  });
  if (response.ok) return response;
  const text = await response.text();
  throw new ServiceFault(response.status, toMessage(text, response));
}

export async function callAsOperator(service: ServiceName, path: string, init: RequestInit = {}): Promise<Response> {
  const token = readOperatorToken();
  return callService(service, path, {
    ...init,
    headers: { ...init.headers, ...(token && { authorization: `Bearer ${token}` }) },
  });
}

export async function loadAsOperator<Answer>(service: ServiceName, path: string, init?: RequestInit): Promise<Answer> {
  return (await callAsOperator(service, path, init)).json() as Promise<Answer>;
}

export function sendAsOperator<Answer>(
  service: ServiceName,
  path: string,
  body: unknown,
  method: 'POST' | 'PUT' = 'POST',
): Promise<Answer> {
  const headers = { 'content-type': 'application/json' };
  return loadAsOperator(service, path, { method, headers, body: JSON.stringify(body) });
}

export function isRefused(error: unknown): error is ServiceFault {
  return error instanceof ServiceFault && error.status === 401;
}

function toMessage(text: string, { status, statusText }: Response): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown };
    if (typeof message === 'string') return message;
  } catch {
    // not one of our error bodies
  }
  return text.slice(0, 200) || `${status} ${statusText}`;
}

// Kept only as long as the tab, because it opens every operators' route.
const key = 'palaver.operator-token';
const listeners = new Set<() => void>();

export const readOperatorToken = (): string => sessionStorage.getItem(key) ?? '';

export function keepOperatorToken(token: string): void {
  if (token) sessionStorage.setItem(key, token);
  else sessionStorage.removeItem(key);
  for (const notify of listeners) notify();
}

export function useOperatorToken(): string {
  return useSyncExternalStore((notify) => {
    listeners.add(notify);
    return () => listeners.delete(notify);
  }, readOperatorToken);
}

/** The token is part of the key, so that a new one asks again. */
export function useOperatorQuery<Data>({ queryKey, ...options }: UseQueryOptions<Data>) {
  return useQuery({ ...options, queryKey: [...queryKey, useOperatorToken()] });
}
