import type { ProgramServers } from '../actions/http-actions.ts';
import type { Claims } from '../money/claims.ts';
import type { Flow } from './flow.ts';

type Answers = Pick<Flow, 'http' | 'protocol' | 'assistant'>;

export interface TestServers extends ProgramServers {
  /** Requests without an answer since the last `use`. */
  unanswered(): readonly string[];
  use(answers: Answers): void;
}

/** What programs ask: each dialogue says what is answered, and nothing leaves the machine. */
export function createTestServers(): TestServers {
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

export interface KeptClaim {
  claim: string;
  collection?: string;
  fields: Record<string, unknown>;
}

interface KeptClaims extends Pick<Claims, 'add' | 'countSince'> {
  of(phone: string): KeptClaim[];
}

/** Takes the claims of programs that are tried out: none reaches the protocol. */
export function createKeptClaims(): KeptClaims {
  const kept = new Map<string, KeptClaim & { phone: string }>();
  const of = (wanted: string) =>
    [...kept.values()].filter(({ phone }) => phone === wanted).map(({ phone: _, ...claim }) => claim);
  return {
    of,
    async add(_trx, { source, phone, collection, content: { filedAt: _, ...fields } }) {
      const [, claim = ''] = source.split(':');
      kept.set(source, { phone, claim, ...(collection !== undefined && { collection }), fields });
    },
    countSince: async (_trx, phone) => of(phone).length,
  };
}
