import type { AgentRun, PluginContext } from '@palaver/agent';
import { AppError, type Approval, agentLimits } from '@palaver/contract';
import type { Store } from '@palaver/store';
import { sql } from 'kysely';
import { toFirstSchema } from '../plugin-parts.ts';
import type { SlackClient, SlackMessage } from './slack-api.ts';

type Asked = { message: SlackMessage; userDid: string };

const apology = 'Sorry, that did not work. Please try again in a moment.';
const stopped = 'Sorry, the service stopped before the answer was complete. Please send the message again.';
const cannotSign = 'It needs a signature of the user, which cannot be given in Slack.';

export function createSlackConversations(ctx: PluginContext, store: SlackStore, client: SlackClient) {
  const { sessions, logger } = ctx;

  const post = ({ channel, replyTo }: SlackMessage, text: string) => client.post({ channel, thread: replyTo, text });

  async function findSession(team: string, { message, userDid }: Asked): Promise<string> {
    const { channel, thread } = message;
    const conversation = `${team}/${channel}/${thread}`;
    const known = await store.findSession(conversation, userDid);
    if (known !== undefined && (await sessions.find(userDid, known))) return known;
    const { sessionId } = await sessions.create(userDid, { metadata: { slack: { team, channel, thread } } });
    await store.keepSession(conversation, userDid, sessionId);
    return sessionId;
  }

  /** Each post is taken first: several messages of a thread may follow the same run. */
  async function postOnce(name: string, message: SlackMessage, text: () => Promise<string> | string): Promise<void> {
    if (await store.takeEvent(name)) await post(message, await text());
  }

  /** Slack users have no keys, so what a signature is needed for is refused, and the model says why. */
  async function ask(run: AgentRun, approval: Approval, { message, userDid }: Asked): Promise<void> {
    const { approvalId } = approval;
    if (approval.capability || approval.invocation) {
      const refusal = { userDid, runId: run.runId, approvalId, approved: false, reason: cannotSign };
      // Another instance may follow the run too.
      await ctx.answerApproval(refusal).catch(() => undefined);
      return;
    }
    await postOnce(`ask ${approvalId}`, message, () => toQuestion(approval, message));
  }

  async function follow(run: AgentRun, asked: Asked): Promise<void> {
    let isWaiting = false;
    try {
      for await (const { name, data } of run.events()) {
        if (name === 'approval_request') {
          const pending = await run.approvals();
          isWaiting = pending.length > 0;
          const approval = pending.find(({ approvalId }) => approvalId === data.approvalId);
          if (approval) await ask(run, approval, asked);
        }
      }
    } catch (error) {
      // A run that waits continues in the next process once its user has answered.
      if (!(error instanceof AppError && error.code === 'UNAVAILABLE')) throw error;
      return isWaiting ? undefined : postOnce(`done ${run.runId}`, asked.message, () => stopped);
    }
    await postOnce(`done ${run.runId}`, asked.message, async () => (await run.answer()).content || apology);
  }

  /** Answers what the session waits for; false if the message is not an answer. */
  async function answerPending(run: AgentRun, { message, userDid }: Asked): Promise<boolean> {
    const pending = await run.approvals();
    const answer = pending.length > 0 && readAnswer(message.text);
    if (!answer) return false;
    const { approved, code, reason } = answer;
    const meant = pending.filter(({ approvalId }) => code === undefined || toCode(approvalId) === code);
    if (meant.length === 0 || (approved && code === undefined)) {
      // Which one is meant must be plain: another may have been asked since the user read the last.
      for (const approval of pending) await post(message, toQuestion(approval, message));
      return true;
    }
    for (const { approvalId } of meant)
      await ctx.answerApproval({ userDid, runId: run.runId, approvalId, approved, reason });
    return true;
  }

  async function answer(team: string, requestId: string, message: SlackMessage): Promise<void> {
    if ([...message.text].length > agentLimits.messageCharacters)
      return post(message, 'That message is too long for me.');
    const userDid = await ctx.deriveDid(`slack ${team} ${message.user}`);
    const asked = { message, userDid };
    const sessionId = await findSession(team, asked);
    const before = await ctx.liveRun({ userDid, sessionId });
    if (before && (await answerPending(before, asked))) return follow(before, asked);
    const body = { message: message.text, stream: true, returnAllMessages: false };
    const run = await ctx.open({ userDid, sessionId, requestId, body });
    // The process that followed the run before may be gone.
    await Promise.all([before && follow(before, asked), follow(run, asked)]);
  }

  /** Never throws: no caller is left to receive the error. */
  return async (team: string, requestId: string, message: SlackMessage): Promise<void> => {
    try {
      await answer(team, requestId, message).catch((error) => {
        if (error instanceof AppError) return post(message, error.message);
        logger.error({ err: error, requestId }, 'a message from Slack could not be answered');
        return post(message, apology);
      });
    } catch (error) {
      logger.error({ err: error, requestId }, 'an answer did not reach Slack');
    }
  };
}

/** Short enough to type; names the approval among those that a run waits for. */
const toCode = (approvalId: string) => approvalId.slice(-6);

function toQuestion({ approvalId, toolName, args, expiresAt }: Approval, { isDirect }: SlackMessage): string {
  const code = toCode(approvalId);
  const how = isDirect ? 'Reply' : 'Mention me with';
  return [
    `May I run ${toolName} with this?`,
    JSON.stringify(args),
    `${how} "approve ${code}" or "refuse ${code}"; a reason may follow "refuse". Any other message counts as a refusal.`,
    `Without an answer by ${expiresAt.slice(11, 16)} UTC it is not run.`,
  ].join('\n');
}

type ReadAnswer = { approved: boolean; code: string | undefined; reason?: string | undefined };

export function readAnswer(text: string): ReadAnswer | undefined {
  const [, approved, approvedCode] = /^(approve|yes)(?:\s+([0-9a-f]{6}))?[.!]?$/i.exec(text) ?? [];
  if (approved) return { approved: true, code: approvedCode?.toLowerCase() };
  const [, refused, code, reason] = /^(refuse|no)\b(?:\s+([0-9a-f]{6})\b)?[\s:;,.!-]*(.*)$/is.exec(text) ?? [];
  if (!refused) return undefined;
  // PostgreSQL has no U+0000 in its texts.
  const said = reason?.replaceAll('\0', '').slice(0, agentLimits.approvalReasonCharacters);
  return { approved: false, code: code?.toLowerCase(), reason: said || undefined };
}

export interface SlackDatabase {
  agent_slack_thread: { conversation: string; user_did: string; session_id: string; created_at: number };
  agent_slack_event: { event_id: string; received_at: number };
}

export const slackMigrations = toFirstSchema([
  sql`create table agent_slack_thread (
    conversation text not null, user_did text not null, session_id text not null, created_at bigint not null,
    primary key (conversation, user_did))`,
  sql`create table agent_slack_event (event_id text primary key, received_at bigint not null)`,
]);

/** Slack repeats an event for about an hour. */
const keepEventsMs = 24 * 3_600_000;

type SlackStore = ReturnType<typeof createSlackStore>;

export function createSlackStore({ db }: Store<SlackDatabase>) {
  return {
    /** Of Slack, or a post to it. False if it was taken before, here or on another instance. */
    async takeEvent(eventId: string): Promise<boolean> {
      const now = Date.now();
      await db
        .deleteFrom('agent_slack_event')
        .where('received_at', '<', now - keepEventsMs)
        .execute();
      const insertion = db.insertInto('agent_slack_event').values({ event_id: eventId, received_at: now });
      const result = await insertion.onConflict((conflict) => conflict.doNothing()).executeTakeFirst();
      return (result.numInsertedOrUpdatedRows ?? 0n) > 0n;
    },

    async findSession(conversation: string, userDid: string): Promise<string | undefined> {
      const query = db.selectFrom('agent_slack_thread').select('session_id');
      const row = await query.where((eb) => eb.and({ conversation, user_did: userDid })).executeTakeFirst();
      return row?.session_id;
    },

    async keepSession(conversation: string, userDid: string, sessionId: string): Promise<void> {
      await db
        .insertInto('agent_slack_thread')
        .values({ conversation, user_did: userDid, session_id: sessionId, created_at: Date.now() })
        .onConflict((conflict) =>
          conflict.columns(['conversation', 'user_did']).doUpdateSet({ session_id: sessionId, created_at: Date.now() }),
        )
        .execute();
    },
  };
}
