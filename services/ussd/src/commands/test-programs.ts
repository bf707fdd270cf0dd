import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import { findPrograms } from '../programs/read-source.ts';
import type { Sms } from '../sms/provider.ts';
import type { MenuReport } from './check-menu-files.ts';
import { type Flow, FlowFault, formatDifference, parseFlow, replayFlow } from './flow.ts';
import { makePhoneNumber } from './flow-secrets.ts';
import type { KeptClaim } from './kept-claims.ts';
import type { ProgramFiles } from './load-programs.ts';
import { createPhone } from './phone.ts';
import { startTemporary, type TemporaryService } from './temporary-service.ts';
import { createTestServers, type TestServers } from './test-servers.ts';

export interface FlowResult {
  file: string;
  name?: string;
  ok: boolean;
  /** What differs, or what is wrong with the file. */
  fault?: string;
}

export interface TestReport extends MenuReport {
  flows: FlowResult[];
}

/** What `palaver program test` prints: every dialogue of `flows/`, played by a new caller on an empty database. */
export async function testPrograms(files: ProgramFiles, onProgress?: (text: string) => void): Promise<TestReport> {
  const flows: FlowResult[] = [];
  const servers = createTestServers();
  await using service = await startTemporary({ ...files, servers });
  const found = await listFlows(files.folder);
  for (const [index, file] of found.entries()) {
    onProgress?.(`${index + 1} of ${found.length}: ${file}`);
    const flow = await loadFlow(file);
    if (typeof flow === 'string') flows.push({ file, ok: false, fault: flow });
    else {
      const fault = await playFlow(flow, service, servers);
      flows.push({ file, name: flow.name, ok: fault === undefined, ...(fault !== undefined && { fault }) });
    }
  }
  const lines = flows.map(({ file, name, ok, fault }) => {
    const title = name === undefined ? file : `${file}: ${name}`;
    return ok ? `ok    ${title}` : `FAIL  ${title}: ${fault}`;
  });
  if (flows.length === 0) return { ok: false, lines: [`${files.folder}: there is no flows/*.yaml to play`], flows };
  return { ok: flows.every(({ ok }) => ok), lines, flows };
}

/** What is wrong, or `undefined` when everything is as the dialogue says. */
async function playFlow(flow: Flow, service: TemporaryService, servers: TestServers): Promise<string | undefined> {
  servers.use(flow);
  const phoneNumber = flow.phoneNumber ?? makePhoneNumber();
  const phone = createPhone({ url: service.url, phoneNumber, serviceCode: service.serviceCode });
  const result = await replayFlow(flow, phone).catch(toFault);
  if (typeof result === 'string') return result;
  const [unknown] = servers.unanswered();
  if (unknown !== undefined) return `the program asks ${unknown} has no answer`;
  if (!result.ok) return formatDifference(result);
  const fault = compareSms(flow.sms ? await service.messages() : [], phoneNumber, flow.sms);
  return fault ?? compareClaims(service.claims(phoneNumber), flow.claims);
}

function compareSms(sent: readonly Sms[], to: string, expected: Flow['sms']): string | undefined {
  if (!expected) return undefined;
  const received = sent.filter((message) => message.to === to).map(({ text }) => text);
  const [wanted, got] = [expected, received].map((texts) => texts.toSorted().join('\n'));
  return wanted === got ? undefined : `the SMS messages differ\n--- expected\n${wanted}\n--- received\n${got}`;
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
