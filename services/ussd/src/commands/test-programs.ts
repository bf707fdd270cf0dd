import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AskServer, GuardedAnswer, GuardedRequest } from '../http/guarded-request.ts';
import { findPrograms } from '../programs/read-source.ts';
import type { Sms } from '../sms/provider.ts';
import type { MenuReport } from './check-menu-files.ts';
import { type Flow, FlowFault, formatDifference, parseFlow, replayFlow, type ServerAnswer } from './flow.ts';
import { makePhoneNumber } from './flow-secrets.ts';
import type { ProgramFiles } from './load-programs.ts';
import { createPhone } from './phone.ts';
import { startTemporary } from './temporary-service.ts';

/** What `palaver program test` prints: every dialogue of `flows/`, played by a new caller on an empty database. */
export async function testPrograms(files: ProgramFiles): Promise<MenuReport> {
  const report: MenuReport = { ok: true, lines: [] };
  const servers = createServers();
  await using service = await startTemporary({ ...files, ask: servers.ask });
  const say = (line: string, fault?: string) => {
    report.lines.push(fault === undefined ? `ok    ${line}` : `FAIL  ${line}: ${fault}`);
    report.ok &&= fault === undefined;
  };
  for (const file of await listFlows(files.folder)) {
    const flow = await loadFlow(file);
    if (typeof flow === 'string') {
      say(file, flow);
      continue;
    }
    servers.use(flow.http ?? []);
    const phoneNumber = flow.phoneNumber ?? makePhoneNumber();
    const phone = createPhone({ url: service.url, phoneNumber, serviceCode: service.serviceCode });
    const result = await replayFlow(flow, phone).catch(toFault);
    const [unknown] = servers.unanswered();
    if (typeof result === 'string') say(`${file}: ${flow.name}`, result);
    else if (unknown !== undefined)
      say(`${file}: ${flow.name}`, `the program asks ${unknown}, and http: has no answer`);
    else if (!result.ok) say(`${file}: ${flow.name}`, formatDifference(result));
    else say(`${file}: ${flow.name}`, await compareSms(service.smsFolder, phoneNumber, flow.sms));
  }
  if (report.lines.length === 0) return { ok: false, lines: [`${files.folder}: there is no flows/*.yaml to play`] };
  return report;
}

const smsWaitMs = 30_000;

/** Messages are sent in the background: those that are expected are waited for. */
async function compareSms(folder: string, to: string, expected: Flow['sms']): Promise<string | undefined> {
  if (!expected) return undefined;
  const until = Date.now() + smsWaitMs;
  let received = await readSms(folder, to);
  while (received.length < expected.length && Date.now() < until) {
    await sleep(100);
    received = await readSms(folder, to);
  }
  const [wanted, got] = [expected, received].map((texts) => texts.toSorted().join('\n'));
  return wanted === got ? undefined : `the SMS messages differ\n--- expected\n${wanted}\n--- received\n${got}`;
}

async function readSms(folder: string, to: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  // A file may be half written.
  const messages = texts.filter((text) => text.endsWith('\n')).map((text) => JSON.parse(text) as Sms);
  return messages.filter((message) => message.to === to).map(({ text }) => text);
}

async function listFlows(folder: string): Promise<string[]> {
  const lists = (await findPrograms(folder)).map(async (program) => {
    const names = await readdir(join(program, 'flows')).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    return names
      .filter((name) => /\.ya?ml$/.test(name))
      .sort()
      .map((name) => join(program, 'flows', basename(name)));
  });
  return (await Promise.all(lists)).flat();
}

async function loadFlow(file: string): Promise<Flow | string> {
  try {
    return parseFlow(await readFile(file, 'utf8'));
  } catch (error) {
    return toFault(error);
  }
}

function toFault(error: unknown): string {
  if (error instanceof FlowFault) return error.message;
  throw error;
}

/** The servers that programs ask: each dialogue says what they answer, and nothing leaves the machine. */
function createServers() {
  let answers: readonly ServerAnswer[] = [];
  let unknown: string[] = [];
  const find = ({ url, method }: GuardedRequest) =>
    answers.find(({ get, post }) => (method === 'GET' ? get : post) === url.href);
  const ask: AskServer = async (request): Promise<GuardedAnswer> => {
    const answer = find(request);
    if (answer) return { status: answer.status, body: JSON.stringify(answer.json ?? null) };
    unknown.push(`${request.method} ${request.url.href}`);
    return { fault: 'the dialogue has no answer for it' };
  };
  return {
    ask,
    unanswered: () => unknown,
    use(next: readonly ServerAnswer[]) {
      answers = next;
      unknown = [];
    },
  };
}
