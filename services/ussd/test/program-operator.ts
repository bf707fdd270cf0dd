// A small program, and the routes by which operators draft and publish.
import type { TestService } from './service-fixture.ts';

export const files = (title: string, code = '*384*5#') => ({
  'program.yaml': `name: small
codes: ["${code}"]
extends: palaver
languages: [en]
start: home
states:
  home: { kind: menu, text: home.title, options: [{ text: home.ask, to: page }] }
  page: { kind: page, text: home.page }
`,
  'locales/en.yaml': `home: { title: ${title}, ask: Page, page: The page of ${title} }\n`,
});

export const rename = (own: ReturnType<typeof files>, name: string) => ({
  ...own,
  'program.yaml': own['program.yaml'].replace('name: small', `name: ${name}`),
});

export function createOperator(service: TestService, token?: string) {
  return async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${service.url}/api/ussd/programs${path}`, {
      method,
      headers: {
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return { status: response.status, body: (await response.json()) as Record<string, never> };
  };
}
