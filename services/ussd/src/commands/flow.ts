import { sayIssue } from '@palaver/program/say-issue';
import { parseDocument, stringify } from 'yaml';
import { z } from 'zod';
import { makePin } from '../people/pin-rules.ts';
import { formatReply, type Phone } from './phone.ts';

const stepSchema = z.union([
  z.strictObject({ dial: z.string(), reply: z.string() }),
  z.strictObject({ send: z.union([z.string(), z.number()]).transform(String), reply: z.string() }),
]);
const answered = { status: z.int().min(100).max(599).default(200), json: z.unknown().optional() };
const answerSchema = z
  .strictObject({ get: z.string().optional(), post: z.string().optional(), ...answered })
  .refine(({ get, post }) => (get === undefined) !== (post === undefined), 'must have exactly one of `get` and `post`');
const flowSchema = z.strictObject({
  name: z.string(),
  /** Every replay calls from a fresh number where the file has none. */
  phoneNumber: z.string().optional(),
  http: z.array(answerSchema).optional(),
  /** What the protocol answers, by the path that the program asks for. */
  protocol: z.array(z.strictObject({ path: z.string(), ...answered })).optional(),
  sms: z.array(z.string()).optional(),
  /** What the assistant answers; `late` after the screen that asks the caller to wait. Without an answer it is unavailable. */
  assistant: z
    .array(
      z.strictObject({ question: z.string(), answer: z.string().exactOptional(), late: z.boolean().exactOptional() }),
    )
    .optional(),
  claims: z
    .array(
      z.strictObject({
        claim: z.string(),
        collection: z.string().exactOptional(),
        fields: z.record(z.string(), z.unknown()).default({}),
      }),
    )
    .optional(),
  steps: z.array(stepSchema).min(1),
});

export type FlowStep = z.infer<typeof stepSchema>;
export type Flow = z.infer<typeof flowSchema>;

type Seen = Map<string, string>;

type ReplayResult =
  | { ok: true; seen: Seen }
  | { ok: false; step: number; sent: string; expected: string; received: string };

/** A file that is not a recorded dialogue; the message is for the person who chose it. */
export class FlowFault extends Error {
  override readonly name = 'FlowFault';
}

export function parseFlow(source: string): Flow {
  const document = parseDocument(source, { prettyErrors: false });
  const [fault] = document.errors;
  if (fault) {
    const line = source.slice(0, fault.pos[0]).split('\n').length;
    throw new FlowFault(`This is not a flow file: line ${line} is not valid YAML (${fault.message}).`);
  }
  const value: unknown = document.toJS();
  const result = flowSchema.safeParse(value);
  if (result.success) return result.data;
  const hasFields = typeof value === 'object' && value !== null && !Array.isArray(value);
  const faults = result.error.issues.map((issue) => sayIssue(issue, value, flowSchema));
  throw new FlowFault(`This is not a flow file: ${hasFields ? faults.join('; ') : 'name and steps are missing'}.`);
}

export const flowLayout = {
  blockQuote: 'literal',
  lineWidth: 0,
  doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
} as const;

export function formatFlow(flow: Flow): string {
  return stringify(flow, flowLayout);
}

interface ReplayOptions {
  /** The secrets that the file does not hold, by name; a PIN without one is made up. */
  answers?: Readonly<Record<string, string>>;
  /** Gets replies that differ, by the index of their step; without it the replay stops at the first. */
  onDifference?(step: number, reply: string): void;
}

export async function replayFlow(
  flow: Flow,
  phone: Pick<Phone, 'dial' | 'send'>,
  { answers = {}, onDifference }: ReplayOptions = {},
): Promise<ReplayResult> {
  const seen: Seen = new Map(Object.entries(answers));
  for (const [step, expectation] of flow.steps.entries()) {
    const isDial = 'dial' in expectation;
    const sent = isDial ? expectation.dial : fillSecrets(expectation.send, seen);
    const received = formatReply(await (isDial ? phone.dial(sent) : phone.send(sent)));
    if (matchReply(expectation.reply, received, seen)) continue;
    if (!onDifference) return { ok: false, step: step + 1, sent, expected: fill(expectation.reply, seen), received };
    onDifference(step, maskSeen(received, seen));
  }
  return { ok: true, seen };
}

export function maskSeen(text: string, seen: Seen): string {
  let masked = text;
  for (const [name, value] of seen) if (value !== '') masked = masked.replaceAll(value, `{{${name}}}`);
  return masked;
}

export function formatDifference({ step, sent, expected, received }: Extract<ReplayResult, { ok: false }>): string {
  return `step ${step} (sent ${JSON.stringify(sent)})\n--- expected\n${expected}\n--- received\n${received}`;
}

const pinName = 'pin';
const wildcard = /\{\{(\w+)\}\}/g;

/** `{{reference}}` stands for any text at first, and for that same text wherever it comes again. */
export function matchReply(expected: string, received: string, seen: Seen): boolean {
  const names: string[] = [];
  const pattern = fill(expected.trim(), seen)
    .replace(/[.*+?^$()|[\]\\]/g, '\\$&')
    .replace(wildcard, (_, name: string) => {
      if (names.includes(name)) return `\\k<${name}>`;
      names.push(name);
      return `(?<${name}>[^\\n]+)`;
    });
  const match = new RegExp(`^${pattern}$`).exec(received.trim());
  for (const name of match ? names : []) seen.set(name, match?.groups?.[name] ?? '');
  return match !== null;
}

function fill(text: string, seen: ReadonlyMap<string, string>): string {
  return text.replace(wildcard, (whole, name: string) => seen.get(name) ?? whole);
}

/** A send whose placeholder no reply has given is a secret. */
function fillSecrets(text: string, seen: Map<string, string>): string {
  for (const [, name = ''] of text.matchAll(wildcard)) {
    if (seen.has(name)) continue;
    if (!name.startsWith(pinName)) throw new FlowFault(`The answer {{${name}}} is not in the file: give it by name.`);
    seen.set(name, makePin({ others: [...seen.values()] }));
  }
  return fill(text, seen);
}

const pinShape = /^\d{4,6}$/;

/** Writes `{{pin}}` in place of a secret, or of any 4 to 6 digits where the server does not say what is secret. */
export function maskSecrets(steps: readonly FlowStep[], secret: readonly (boolean | undefined)[] = []): FlowStep[] {
  const names = new Map<string, string>();
  for (const [i, step] of steps.entries()) {
    if (!('send' in step) || names.has(step.send) || !(secret[i] ?? pinShape.test(step.send))) continue;
    const kind = pinShape.test(step.send) ? pinName : 'secret';
    const count = [...names.values()].filter((name) => name.startsWith(kind)).length;
    names.set(step.send, count === 0 ? kind : `${kind}${count + 1}`);
  }
  return steps.map((step, i) => {
    const name = 'send' in step && secret[i] !== false ? names.get(step.send) : undefined;
    return name === undefined ? step : { ...step, send: `{{${name}}}` };
  });
}

/** A random number, which most likely has not called before. */
export function makePhoneNumber(): string {
  const [number = 0] = crypto.getRandomValues(new Uint32Array(1));
  return `+2547${String(number % 100_000_000).padStart(8, '0')}`;
}
