import {
  agentVariables,
  type Capability,
  createSeal,
  defineOraclePlugin,
  identityOf,
  type OraclePlugin,
  type RuntimeContext,
  removeSettled,
  type Tool,
  ToolError,
  tablesOf,
  tool,
} from '@palaver/agent';
import { createTxOutbox, toSubmitClaim } from '@palaver/protocol';
import {
  addOutboxRoutes,
  envSigningKey,
  findGranter,
  gatewayVariables,
  loadSigningAccount,
  signingVariables,
  toClaimId,
  toSendFor,
} from '@palaver/protocol/internal';
import { envBoolean, envInteger, type Server } from '@palaver/service-kit';
import { describeRoutes, runEvery } from '@palaver/service-kit/internal';
import { z } from 'zod';
import { createClientHash, openGateway, settledVariables, toManifest } from '../plugin-parts.ts';
import { askGateway } from '../protocol-query/protocol-query.ts';
import {
  type ActionParts,
  type ActionsDatabase,
  type ActionTable,
  actionsMigrations,
  actionsPersonalData,
  actionsRetention,
  createActions,
  envSendLimit,
  type NewAction,
  type OrderResult,
  onActionSettled,
  type SendLimits,
  toSendLimits,
} from './actions.ts';

const configSchema = z.object({
  ...gatewayVariables,
  ...signingVariables,
  NODE_ENV: agentVariables.NODE_ENV,
  DATA_DIR: agentVariables.DATA_DIR,
  ACTIONS_ENABLED: envBoolean().prefault('false').meta({
    description: 'Whether the agent submits claims and sends tokens for users who have delegated these rights to it.',
  }),
  AGENT_SIGNING_KEY: envSigningKey(),
  ACTIONS_PER_DAY: envInteger({ min: 1, max: 10_000 }).prefault('20').meta({
    description:
      'Claims and payments that one user can order in 24 hours, also those that the chain refuses: the agent pays their fees.',
  }),
  ACTIONS_PER_ADDRESS_PER_DAY: envInteger({ min: 1, max: 1_000_000 }).prefault('200').meta({
    description:
      'The same for all users of one client address (an IPv6 /64 counts as one); not for SHARED_CLIENT_CIDRS. Anyone can make as many users as they like. All users together can order 50 times as much.',
  }),
  ...settledVariables,
  SEND_LIMIT_PER_CALL: envSendLimit('one call'),
  SEND_LIMIT_PER_DAY: envSendLimit('24 hours'),
});

/** How many client addresses' worth all users together can order, which bounds the fees that the agent pays for them. */
const addressesInAll = 50;
const pollMs = 2_000;
const maxContent = 10_000;
const addressPattern = /^ixo1[a-z0-9]{38,58}$/;

const summary = "Submits claims and sends tokens in the user's name, within what the user has delegated.";

export function createProtocolActionsPlugin(): OraclePlugin {
  let parts: ActionParts;
  let stop = async () => {};
  return defineOraclePlugin({
    name: 'protocol-actions',
    version: '1.0.0',
    manifest: toManifest('Protocol actions', summary, {
      whenToUse: ['the user wants to submit a claim', 'the user wants to send tokens to an address'],
      tags: ['protocol', 'claim', 'token'],
      category: 'integration',
      stability: 'beta',
    }),
    configSchema,
    autoDetect: (env) => envBoolean().safeParse(env.ACTIONS_ENABLED).data === true,
    autoDetectHint: 'set ACTIONS_ENABLED=true',
    tables: tablesOf<ActionsDatabase>(),
    migrations: actionsMigrations,
    personalData: actionsPersonalData,
    async setup({ store, config, logger, audit, deriveKey }) {
      const gateway = openGateway(config, 'ACTIONS_ENABLED');
      const limits = toSendLimits(config.SEND_LIMIT_PER_CALL, config.SEND_LIMIT_PER_DAY);
      const account = await loadSigningAccount(config, { service: 'agent', key: config.AGENT_SIGNING_KEY, logger });
      const tables = { service: 'agent', account, onSettled: onActionSettled };
      const outbox = createTxOutbox<ActionsDatabase>({ store, gateway, logger, ...tables });
      const { ACTIONS_PER_DAY: user, ACTIONS_PER_ADDRESS_PER_DAY: address } = config;
      let running: Promise<void> | undefined;
      const work = async () => {
        running ??= outbox
          .step()
          .catch((error: unknown) => logger.warn({ err: error }, 'transactions cannot be sent now'))
          .finally(() => {
            running = undefined;
          });
        await running;
      };
      const actions = createActions({
        store,
        outbox,
        work,
        referenceOf: audit.person,
        seal: createSeal(deriveKey('invocations')),
        hashClient: createClientHash(deriveKey),
        perDay: { user, address, agent: address * addressesInAll },
      });
      const looking = runEvery({
        everyMs: pollMs,
        work: async () => ((await actions.isIdle()) ? undefined : work()),
        onFault: (error) => logger.warn({ err: error }, 'orders cannot be read now'),
      });
      const removing = removeSettled({ store, logger, days: config.RETENTION_CLAIMS_DAYS, rules: actionsRetention });
      stop = async () => {
        await Promise.all([looking.stop(), running, removing.stop()]);
      };
      parts = { actions, outbox, gateway, address: account.address, limits };
    },
    teardown: () => stop(),
    getTools: () => ({
      submit_claim: createClaimTool(parts),
      ...(parts.limits && { send_tokens: createSendTool(parts, parts.limits) }),
    }),
    getRoutes: () => (server) => addActionRoutes(server, parts),
  });
}

function createClaimTool(parts: ActionParts): Tool {
  const { gateway, address } = parts;
  const toCapability = (did: string, collection: string) => ({ can: 'claims/submit', with: did, nb: { collection } });
  return tool({
    description: "Submits a claim to a collection in the user's name. It is public and cannot be taken back.",
    inputSchema: z.object({
      collection: z.string().regex(/^\d{1,20}$/, 'expected the number of a collection'),
      content: z
        .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
        .refine((content) => JSON.stringify(content).length <= maxContent, { error: 'is too long' })
        .describe('What is claimed, as the evaluator reads it'),
    }),
    // An order is stored once for a call.
    repeatable: true,
    needsDelegation: ({ collection }, { user }) => toCapability(user.did, collection),
    async execute({ collection, content }, rt) {
      const { did } = rt.user;
      const source = JSON.stringify({ source: toActionId(rt), did, collection, content });
      const claimId = toClaimId(source);
      const ordered = await carryOut(parts, rt, async () => {
        const path = ['ixo', 'claims', 'collection', collection];
        const what = `collection ${collection}`;
        const found = collectionSchema.parse(await askGateway({ gateway, path, what, signal: rt.abortSignal }));
        const capability = toCapability(did, collection);
        const agent = { agentDid: did, agentAddress: address, adminAddress: found.collection.admin };
        return {
          capability: { ...capability, nb: { ...capability.nb, claim: claimId } },
          message: toSubmitClaim({ collectionId: collection, claimId, ...agent }),
          details: { claimId, collection, content: source },
        };
      });
      return { claimId, ...toOutcome(ordered) };
    },
  });
}

const collectionSchema = z.object({ collection: z.object({ admin: z.string() }) });

function createSendTool(parts: ActionParts, { denom, perCall, perDay }: SendLimits): Tool {
  const { gateway, address } = parts;
  const nb = { denom, perCall: String(perCall), perDay: String(perDay) };
  const findFrom = async ({ user: { did }, abortSignal: signal }: RuntimeContext) => {
    const found = await findGranter(gateway, { did, grantee: address, signal });
    if (!found.ok)
      throw new ToolError('TOOL_FAILED', `the accounts whose coins may be sent could not be read: ${found.message}`);
    if (found.granter) return found.granter;
    const remedy = `the user has to grant it on the chain from an account of their DID document, with the memo ${did}`;
    throw new ToolError('TOOL_FAILED', `no account lets ${address} send for this user: ${remedy}`);
  };
  return tool({
    description: `Sends tokens of the user to an address: at most ${perCall} ${denom} at a time and ${perDay} ${denom} a day.`,
    inputSchema: z.object({
      to: z.string().regex(addressPattern, 'expected an address such as ixo1…'),
      amount: z
        .string()
        .regex(/^[1-9]\d{0,30}$/, 'expected a whole number, as digits')
        .refine((amount) => BigInt(amount) <= perCall, { error: `is more than ${perCall}, the most of one call` })
        .describe(`In ${denom}, the smallest unit`),
    }),
    repeatable: true,
    needsApproval: true,
    needsDelegation: (_args, { user }) => ({ can: 'tokens/send', with: user.did, nb }),
    async execute({ to, amount }, rt) {
      const ordered = await carryOut(parts, rt, async () => {
        const from = await findFrom(rt);
        return {
          capability: { can: 'tokens/send', with: rt.user.did, nb: { ...nb, to, amount } },
          message: toSendFor({ grantee: address, from, to, coins: [{ denom, amount }] }),
          coins: { amount: BigInt(amount), perDay },
          details: { from, to, denom },
        };
      });
      return { amount, denom, to, ...toOutcome(ordered, address) };
    },
  });
}

const limitWords: Partial<Record<OrderResult, string>> = {
  'too many of user': 'the user has ordered as much as is possible in 24 hours',
  'too many of address': 'the users of this client address have ordered as much as is possible in 24 hours',
  'too many of agent': 'the users of this agent have ordered as much as is possible in 24 hours',
};

type Order = Pick<NewAction, 'message' | 'details' | 'coins'> & { capability: Capability };

async function carryOut(parts: ActionParts, rt: RuntimeContext, prepare: () => Promise<Order>): Promise<ActionTable> {
  const { actions, address, limits } = parts;
  const id = toActionId(rt);
  if (!(await actions.find(id))) {
    const { capability, ...order } = await prepare();
    const invocation = await rt.ucan.mintInvocation({ audience: `did:x:${address}`, capability });
    const ordered = await actions.order({ ...order, id, userDid: rt.user.did, client: rt.client, invocation });
    const most = `${limits?.perDay} ${limits?.denom}`;
    if (ordered === 'too much')
      throw new ToolError('TOOL_FAILED', `the user can send ${most} in 24 hours, and this is more`);
    if (ordered === 'too many of agent')
      rt.logger.warn('an order was refused: the day has had as many as all users together can order');
    const words = limitWords[ordered];
    if (words) throw new ToolError('TOOL_FAILED', `${words}; they can order again tomorrow`);
  }
  return actions.wait(id, rt.abortSignal);
}

/** The same for a call that is made again after a crash. */
const toActionId = ({ session, toolCallId }: RuntimeContext): string => `${session.runId}:${toolCallId}`;

function toOutcome({ status, hash, fault }: ActionTable, grantee?: string) {
  if (status === 'included') return { status, transaction: hash };
  const needsGrant = fault?.startsWith('authz ') && grantee;
  const why = needsGrant ? `the user has to grant ${grantee} the right to send on the chain (${fault})` : fault;
  if (status === 'failed') throw new ToolError('TOOL_FAILED', `the chain refused it, and nothing was done: ${why}`);
  return { status, ...(why ? { refusedSoFar: why } : { note: 'on its way; it will be in a block soon' }) };
}

const termsSchema = z.object({
  address: z
    .string()
    .meta({ description: 'The account that signs. Grant it the right to send on the chain, with your DID as memo.' }),
  send: z.object({ denom: z.string(), perCall: z.string(), perDay: z.string() }).optional(),
});
const detailsSchema = z.record(z.string(), z.string());
const actionsSchema = z.object({
  actions: z.array(
    z.object({
      id: z.string(),
      kind: z.enum(['claim', 'send']),
      status: z.enum(['sending', 'included', 'failed']),
      amount: z.string().nullable(),
      details: detailsSchema,
      hash: z.string().nullable(),
      fault: z.string().nullable(),
      createdAt: z.string(),
    }),
  ),
});
const shown = 100;

function addActionRoutes(server: Server, { actions, outbox, address, limits }: ActionParts): void {
  addOutboxRoutes(server, { path: '/actions/transactions', outbox });
  const route = describeRoutes('Protocol actions');
  const terms = {
    address,
    ...(limits && { send: { denom: limits.denom, perCall: String(limits.perCall), perDay: String(limits.perDay) } }),
  };
  const show = route('Who signs in your name, and its limits', { response: { 200: termsSchema } });
  server.get('/actions/terms', { schema: show }, async () => terms);
  const summary = `What was done in your name on the chain, the newest ${shown}`;
  server.get('/actions', { schema: route(summary, { response: { 200: actionsSchema } }) }, async (request) => {
    const rows = await actions.list(identityOf(request).did, shown);
    return {
      actions: rows.map(({ id, kind, status, amount, hash, fault, ...row }) => {
        const own = { id, kind, status, amount, hash, fault, createdAt: new Date(row.created_at).toISOString() };
        return { ...own, details: detailsSchema.parse(JSON.parse(row.details)) };
      }),
    };
  });
}
