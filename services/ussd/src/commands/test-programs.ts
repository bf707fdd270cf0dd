import { readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { type Document, parseDocument, stringify } from 'yaml';
import type { ProgramServers } from '../actions/http-actions.ts';
import { findPrograms } from '../catalog/read-source.ts';
import type { MenuReport, ProgramFiles } from './check-programs.ts';
import {
  type Flow,
  FlowFault,
  flowLayout,
  formatDifference,
  makePhoneNumber,
  maskSeen,
  matchReply,
  parseFlow,
  replayFlow,
} from './flow.ts';
import { createPhone } from './phone.ts';
import { type KeptClaim, startTemporary, type TemporaryService } from './temporary-service.ts';

export interface FlowResult {
  file: string;
  name?: string;
  ok: boolean;
  isUpdated: boolean;
  fault?: string;
}

export interface TestReport extends MenuReport {
  flows: FlowResult[];
}

export interface TestOptions {
  update?: boolean | undefined;
  onProgress?(text: string): void;
}

export async function testPrograms(files: ProgramFiles, options: TestOptions = {}): Promise<TestReport> {
  const flows: FlowResult[] = [];
  const found = await listFlows(files.folder);
  if (found.length === 0) return { ok: false, lines: [`${files.folder}: there is no flows/*.yaml to play`], flows };
  const servers = createTestServers();
  await using service = await startTemporary({ ...files, servers });
  for (const [index, file] of found.entries()) {
    options.onProgress?.(`${index + 1} of ${found.length}: ${file}`);
    flows.push(await testFlow(file, { service, servers, update: options.update ?? false }));
  }
  const lines = flows.map(({ file, name, ok, fault, isUpdated }) => {
    const title = name === undefined ? file : `${file}: ${name}`;
    return ok ? `${isUpdated ? 'new ' : 'ok  '}  ${title}` : `FAIL  ${title}: ${fault}`;
  });
  return { ok: flows.every(({ ok }) => ok), lines, flows };
}

interface TestBed {
  service: TemporaryService;
  servers: TestServers;
  update: boolean;
}

async function testFlow(file: string, bed: TestBed): Promise<FlowResult> {
  const source = await readFile(file, 'utf8');
  const changed = bed.update ? parseDocument(source) : undefined;
  try {
    const flow = parseFlow(source);
    const fault = await playFlow(flow, bed, changed);
    const text = changed?.toString(flowLayout);
    const isUpdated = fault === undefined && text !== undefined && !isDeepStrictEqual(parseFlow(text), flow);
    if (isUpdated) await writeFile(file, text);
    return { file, name: flow.name, ok: fault === undefined, isUpdated, ...(fault !== undefined && { fault }) };
  } catch (error) {
    if (error instanceof FlowFault) return { file, ok: false, isUpdated: false, fault: error.message };
    throw error;
  }
}

/** Returns what is wrong. Differences go to `changed` instead if it is given. */
async function playFlow(flow: Flow, { service, servers }: TestBed, changed?: Document): Promise<string | undefined> {
  servers.use(flow);
  const phoneNumber = flow.phoneNumber ?? makePhoneNumber();
  const phone = createPhone({ url: service.url, phoneNumber, serviceCode: service.serviceCode });
  const onDifference = (step: number, reply: string) => changed?.setIn(['steps', step, 'reply'], reply);
  const result = await replayFlow(flow, phone, changed ? { onDifference } : {});
  const [unknown] = servers.unanswered();
  if (unknown !== undefined) return `the program asks ${unknown} has no answer`;
  if (!result.ok) return formatDifference(result);
  const messages = flow.sms || changed ? await service.messages() : [];
  const received = messages.filter(({ to }) => to === phoneNumber).map(({ text }) => text);
  const filed = service.claims(phoneNumber);
  const faults = { sms: compareSms(received, flow.sms, result.seen), claims: compareClaims(filed, flow.claims) };
  if (!changed) return faults.sms ?? faults.claims;
  if (faults.sms !== undefined)
    changed.set('sms', changed.createNode(received.map((text) => maskSeen(text, result.seen))));
  if (faults.claims !== undefined) changed.set('claims', changed.createNode(filed));
  return undefined;
}

/** The order does not matter. */
function compareSms(received: readonly string[], expected: Flow['sms'], seen: Map<string, string>): string | undefined {
  if (!expected) return undefined;
  const left = [...received];
  for (const text of expected) {
    const at = left.findIndex((message) => matchReply(text, message, seen));
    if (at >= 0) left.splice(at, 1);
  }
  if (received.length === expected.length && left.length === 0) return undefined;
  const [wanted, got] = [expected, received].map((texts) => texts.toSorted().join('\n'));
  return `the SMS messages differ\n--- expected\n${wanted}\n--- received\n${got}`;
}

function compareClaims(filed: readonly KeptClaim[], expected: Flow['claims']): string | undefined {
  if (!expected || isDeepStrictEqual(filed, expected)) return undefined;
  const [wanted, got] = [expected, filed].map((claims) => stringify(claims).trimEnd());
  return `the claims differ\n--- expected\n${wanted}\n--- filed\n${got}`;
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

type Answers = Pick<Flow, 'http' | 'protocol' | 'assistant'>;

interface TestServers extends ProgramServers {
  /** Requests without an answer since the last `use`. */
  unanswered(): readonly string[];
  use(answers: Answers): void;
}

/** What programs ask: each dialogue says what is answered, and nothing leaves the machine. */
function createTestServers(): TestServers {
  let answers: Answers = {};
  let unknown: string[] = [];
  const late = new Map<string, string>();
  return {
    async ask({ url, method }) {
      const found = answers.http?.find(({ get, post }) => (method === 'GET' ? get : post) === url.href);
      if (found) return { status: found.status, body: JSON.stringify(found.json ?? null) };
      unknown.push(`${method} ${url.href}, and http:`);
      return { fault: 'the dialogue has no answer for it' };
    },
    protocol: {
      async query(asked) {
        const found = answers.protocol?.find(({ path }) => path === asked);
        if (!found) unknown.push(`the protocol for ${asked}, and protocol:`);
        const { status, json } = found ?? { status: 503 };
        if (status < 300) return { ok: true, value: json };
        return { ok: false, kind: status === 404 ? 'missing' : 'unavailable', status, message: `status ${status}` };
      },
    },
    agent: {
      async ask({ id, text, onChat }) {
        const found = answers.assistant?.find(({ question }) => question === text);
        if (!found) unknown.push(`the assistant ${JSON.stringify(text)}, and assistant:`);
        const { answer } = found ?? {};
        if (answer === undefined) return { ok: false, reason: 'the dialogue has no answer for it' };
        if (!found?.late) return { ok: true, text: answer };
        await onChat('test');
        late.set(id, answer);
        return { ok: false, reason: 'no answer in time', late: true };
      },
      findAnswer: async ({ id }) => late.get(id),
    },
    unanswered: () => unknown,
    use(flow) {
      answers = flow;
      unknown = [];
    },
  };
}
