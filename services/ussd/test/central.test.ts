// Forms and submissions with a real ODK Central, where one runs: see docs/decisions/odk-forms.md.
import { readFileSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { waitFor } from '@palaver/test-kit';
import { expect, test, vi } from 'vitest';
import { surveyProgram } from './openrosa-server.ts';
import { startService, type TestService } from './service-fixture.ts';
import { writeProgram } from './write-program.ts';

vi.setConfig({ testTimeout: 300_000 });

const { env } = process;
const {
  ODK_CENTRAL_URL: central = '',
  ODK_CENTRAL_DOMAIN: domain = '',
  ODK_CENTRAL_USER: user = '',
  ODK_CENTRAL_PASSWORD: password = '',
} = env;

const form = readFileSync(join(import.meta.dirname, 'forms/short.xml'), 'utf8');

/** Answers in place of Central's nginx. `cuts` counts the replies to submissions that it does not pass on. */
async function startProxy(cuts: { left: number; submissions: number }) {
  const server = createServer((incoming, outgoing) => {
    const headers = { ...incoming.headers, 'x-forwarded-proto': 'https' };
    const isSubmission = incoming.method === 'POST' && incoming.url?.endsWith('/submission');
    const passed = httpRequest(`${central}${incoming.url}`, { method: incoming.method, headers }, (reply) => {
      const isStored = isSubmission && reply.statusCode === 201;
      if (isStored) cuts.submissions += 1;
      if (isStored && cuts.left-- > 0) return void outgoing.destroy();
      outgoing.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(outgoing);
    });
    passed.on('error', () => outgoing.destroy());
    incoming.pipe(passed);
  });
  await new Promise<void>((resolve) => server.listen(Number(new URL(domain).port), '127.0.0.1', resolve));
  return {
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function createCentral() {
  const call = async (path: string, init: RequestInit & { token?: string } = {}) => {
    const { token, ...rest } = init;
    const headers = {
      'content-type': 'application/json',
      ...(token && { authorization: `Bearer ${token}` }),
      ...init.headers,
    };
    const response = await fetch(`${central}/v1${path}`, { ...rest, headers });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return response;
  };
  const session = await call('/sessions', { method: 'POST', body: JSON.stringify({ email: user, password }) });
  const { token } = (await session.json()) as { token: string };
  const made = await call('/projects', { token, method: 'POST', body: JSON.stringify({ name: 'palaver' }) });
  const { id } = (await made.json()) as { id: number };
  const xmlOf = (version: string) => form.replace(/(<data id="short")[^>]*>/, `$1 version="${version}">`);
  const headers = { 'content-type': 'application/xml' };
  return {
    id,
    publish: (version: string) =>
      call(`/projects/${id}/forms?publish=true&ignoreWarnings=true`, {
        token,
        method: 'POST',
        headers,
        body: xmlOf(version),
      }),
    async publishAgain(version: string) {
      const path = `/projects/${id}/forms/short/draft`;
      await call(`${path}?ignoreWarnings=true`, {
        token,
        method: 'POST',
        headers,
        body: xmlOf(version).replace('Your name?', 'Your full name?'),
      });
      await call(`${path}/publish`, { token, method: 'POST' });
    },
    async submissions() {
      const list = (await (await call(`/projects/${id}/forms/short/submissions`, { token })).json()) as {
        instanceId: string;
      }[];
      return Promise.all(
        list.map(async ({ instanceId }) =>
          (
            await call(`/projects/${id}/forms/short/submissions/${encodeURIComponent(instanceId)}.xml`, { token })
          ).text(),
        ),
      );
    },
  };
}

const fillIn = (service: TestService, session: string, name: string) =>
  service.say(session, `1*${name}*3*2*1`, { serviceCode: '*384*9#' });

test('forms come from ODK Central, and submissions arrive there once', async ({ skip }) => {
  if (central === '') return skip('ODK_CENTRAL_URL names no ODK Central: see docs/decisions/odk-forms.md');
  const cuts = { left: 1, submissions: 0 };
  await using _proxy = await startProxy(cuts);
  const project = await createCentral();
  await project.publish('1');
  await using dir = await writeProgram(surveyProgram);
  await using service = await startService('sqlite', {
    USSD_PROGRAMS: dir.path,
    FORMS_SERVER: `${domain}/v1/projects/${project.id}`,
    FORMS_SERVER_USER: user,
    FORMS_SERVER_PASSWORD: password,
    FORMS_REFRESH_MINUTES: '1',
  });
  expect(await fillIn(service, 'a', 'Ana')).toMatch(/^CON Thanks\./);
  const statuses = async () => {
    const { submissions } = (await (await service.get('/api/ussd/submissions')).json()) as {
      submissions: { status: string }[];
    };
    return submissions.map(({ status }) => status);
  };
  await waitFor('the submission', async () => (await statuses())[0] === 'sent', 120_000);
  // Central had it before its reply was lost.
  expect(cuts.submissions).toBe(2);
  expect(await project.submissions()).toEqual([expect.stringContaining('<name>Ana</name><people>3</people>')]);

  await project.publishAgain('2');
  let dials = 0;
  const shown = () => service.say(`again${dials++}`, '1', { serviceCode: '*384*9#' });
  await waitFor('the new version', async () => (await shown()).includes('Your full name?'), 150_000);
});
