import { createHash } from 'node:crypto';
import { type AskServer, type GuardedAnswer, guardedRequest } from '../http/guarded-request.ts';
import type { BuiltIn, BuiltInName } from '../menu/built-in-actions.ts';
import type { Dialogue } from '../menu/dialogue.ts';
import type { ActionResult } from '../menu/engine.ts';
import { evaluate, filterRows } from '../menu/evaluate.ts';
import { type ActionState, type Menu, nameOf } from '../menu/menu.ts';
import { fromExpressionValue, parseJson } from '../menu/value-types.ts';
import type { RecordStore } from '../records/records.ts';
import type { ActionContext } from './action.ts';

export interface BuiltInParts {
  records: RecordStore;
  allowedHosts: readonly string[];
  /** By name, without the prefix that they have in the environment. */
  secrets: Readonly<Record<string, string>>;
  ask?: AskServer | undefined;
}

export interface BuiltInCall<Name extends BuiltInName = BuiltInName> {
  spec: BuiltIn<Name>;
  menu: Menu;
  dialogue: Dialogue;
  context: ActionContext;
}

type Runs = { [Name in BuiltInName]: (call: BuiltInCall<Name>) => Promise<ActionResult> };

export type RunBuiltIn = (state: ActionState, call: Omit<BuiltInCall, 'spec'>) => Promise<ActionResult>;

/** Runs the actions that need no code. */
export function createBuiltInActions(parts: BuiltInParts): RunBuiltIn {
  const runs: Runs = { ...createRecordActions(parts), http: (call) => askServer(parts, call) };
  return ({ action, spec }, call) => {
    const run = runs[action as BuiltInName] as (call: BuiltInCall) => Promise<ActionResult>;
    if (!spec) throw new Error(`${action} is not a built-in action`);
    return run({ ...call, spec });
  };
}

function createRecordActions({ records }: BuiltInParts): Omit<Runs, 'http'> {
  const findRows = async ({ menu, dialogue }: BuiltInCall, kind: string, options: FindOptions) => {
    const found = await records.find({ program: nameOf(menu.id), kind, phone: options.phone, limit: searched });
    const rows = found.map(({ id, phoneNumber, createdAt, fields }) => ({
      ...fields,
      id,
      phone: phoneNumber,
      date: createdAt.slice(0, 10),
    }));
    const { where } = options;
    return where === undefined
      ? rows
      : filterRows(menu, dialogue, { rows, where, toRow: (row) => row as Record<string, string> });
  };
  return {
    store: ({ spec, menu, dialogue, context }) =>
      context.commit(async (trx) => {
        const fields = computeFields(menu, dialogue, spec.fields);
        const { phoneNumber: phone, now, key } = context;
        await records.insert(trx, { id: toId(key), program: nameOf(menu.id), kind: spec.store, phone, fields, now });
        return { outcome: 'stored' };
      }),
    async find(call) {
      const { find, of, where, save, limit } = call.spec;
      const phone = of === 'caller' ? call.context.phoneNumber : undefined;
      const rows = (await findRows(call, find, { phone, where })).slice(0, limit);
      return { outcome: rows.length > 0 ? 'found' : 'none', values: { [save]: JSON.stringify(rows) } };
    },
    async update(call) {
      const { spec, menu, dialogue, context } = call;
      const rows = await findRows(call, spec.update, { phone: context.phoneNumber, where: spec.where });
      const fields = computeFields(menu, dialogue, spec.fields);
      return context.commit(async (trx) => {
        for (const { id } of rows) await records.update(trx, id, fields);
        return { outcome: rows.length > 0 ? 'updated' : 'none' };
      });
    },
  };
}

/** The newest records that a `where` looks through. */
const searched = 1_000;

interface FindOptions {
  phone: string | undefined;
  where?: string | undefined;
}

/** Short enough to be typed and shown, and the same for a retry. */
function toId(key: string): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16);
}

function computeFields(menu: Menu, dialogue: Dialogue, fields: Record<string, string>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, source]) => {
      const value = evaluate(menu, dialogue, source);
      if (value === undefined) return [name, null];
      return [name, typeof value === 'string' ? value : (parseJson(fromExpressionValue(value)) ?? String(value))];
    }),
  );
}

const tries = 2;

async function askServer(parts: BuiltInParts, call: BuiltInCall<'http'>): Promise<ActionResult> {
  const { spec, menu, dialogue, context } = call;
  const { get, post, headers, body, timeout } = spec.http;
  const fill = (template: string, encode: (value: string) => string) =>
    template.replace(/\{([\w.]+)\}/g, (_, name: string) =>
      encode(name.startsWith('secrets.') ? (parts.secrets[name.slice(8)] ?? '') : (dialogue.values[name] ?? '')),
    );
  const url = fill(get ?? post ?? '', encodeURIComponent);
  if (!URL.canParse(url)) return fail(call, 'the address is not a URL');
  // Encoding leaves dots as they are, and a URL takes `/../` as the way to the folder above.
  if (/\/\.{1,2}(?:\/|$)/.test(url.split(/[?#]/, 1)[0] ?? '')) return fail(call, 'a part of the path is . or ..');
  const endsAt = Date.now() + Number(timeout.slice(0, -1)) * 1_000;
  let answer: GuardedAnswer = { fault: 'no answer in time' };
  for (let attempt = 0; attempt < tries && Date.now() < endsAt; attempt++) {
    answer = await (parts.ask ?? guardedRequest)({
      url: new URL(url),
      method: get === undefined ? 'POST' : 'GET',
      headers: {
        ...Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(value, String)])),
        // The same for every retry: the server knows what it has done before.
        'idempotency-key': context.key,
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(computeFields(menu, dialogue, body)) }),
      timeoutMs: endsAt - Date.now(),
      allowedHosts: parts.allowedHosts,
    });
    if ('status' in answer && answer.status < 500) break;
  }
  if ('fault' in answer) return fail(call, answer.fault);
  if (answer.status === 404) return { outcome: 'missing' };
  if (answer.status < 200 || answer.status > 299) return fail(call, `status ${answer.status}`);
  const values = take(answer.body, spec.take);
  return values ? { outcome: 'ok', values } : fail(call, 'the answer is not JSON');
}

function fail({ context }: BuiltInCall, reason: string): ActionResult {
  context.log.warn({ reason }, 'a server that a program asks gave no usable answer');
  return { outcome: 'failed' };
}

const maxTaken = 20_000;

/** Reads `$.latest.price` and `$.prices[0]` from JSON. */
function take(body: string, paths: Record<string, string>): Record<string, string> | undefined {
  try {
    const root: unknown = Object.keys(paths).length > 0 ? JSON.parse(body) : {};
    return Object.fromEntries(
      Object.entries(paths).map(([name, path]) => {
        let value = root;
        for (const step of path.match(/\w+/g) ?? [])
          value =
            typeof value === 'object' && value !== null && Object.hasOwn(value, step)
              ? value[step as never]
              : undefined;
        const text = typeof value === 'object' && value !== null ? JSON.stringify(value) : String(value ?? '');
        return [name, text.length > maxTaken ? '' : text];
      }),
    );
  } catch {
    return undefined;
  }
}
