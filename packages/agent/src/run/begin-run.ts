import { setTimeout as sleep } from 'node:timers/promises';
import { AppError, type Attachment, type LiveRunStatus } from '@palaver/contract';
import type { MessageAttachment } from '@palaver/contract/internal';
import { v7 as uuidv7 } from 'uuid';
import { toParts } from '../store/message-parts.ts';
import type { StoredMessage } from '../store/messages.ts';
import type { OwnedRun, SendKey } from '../store/run-records.ts';
import type { RunStore } from '../store/runs.ts';
import { toKeptFiles } from './kept-files.ts';
import type { RunIds } from './run.ts';
import { toStoredInput } from './run-input.ts';
import type { Turn } from './turn.ts';

export interface BegunRun {
  ids: RunIds;
  owned: OwnedRun;
  status: LiveRunStatus;
  userMessageId: string;
  /** The live runs whose messages it replaces. */
  aborted: string[];
}

/** A run that was begun with the same `Idempotency-Key` before. */
export interface KnownRun {
  known: { runId: string; bodyHash: string };
}

export interface BeginParts {
  runs: RunStore;
  instance: string;
  send: SendKey | undefined;
  now: number;
  /** Gives what is called where the run is not begun, or its begin was undone. */
  reserve(runId: string): () => void;
}

/** Stores a new run and its question in the queue of its session; throws where it is not taken in. */
export async function beginRun(
  turn: Turn,
  { runs, instance, send, now, reserve }: BeginParts,
): Promise<BegunRun | KnownRun> {
  const { sessionId } = turn.session;
  const ids = { runId: uuidv7(), sessionId, userDid: turn.user.did, requestId: turn.requestId, messageId: uuidv7() };
  const input = toStoredInput(turn);
  const question = toQuestion(turn, now);
  const stored = { ...ids, answerId: ids.messageId, instance, model: turn.model, question, input };
  const leave = reserve(ids.runId);
  const begun = await runs.begin({ ...stored, send }).catch((error) => {
    void discard(ids.runId, runs).finally(leave);
    throw error;
  });
  if (begun.kind !== 'begun') leave();
  switch (begun.kind) {
    case 'busy':
      throw new AppError('SESSION_BUSY', 'Too many messages of this session are waiting. Wait for an answer first.');
    case 'gone':
      throw new AppError('SESSION_NOT_FOUND', 'There is no such session.');
    case 'taken':
      throw new AppError('CONFLICT', 'There is a message with this id. Send it with another messageId, or without.');
    case 'replaced':
      throw new AppError('CONFLICT', 'Another message has replaced this question.');
    case 'known':
      return { known: { runId: begun.runId, bodyHash: begun.bodyHash } };
    case 'begun':
      return {
        ids,
        owned: { runId: ids.runId, epoch: begun.epoch },
        status: begun.status,
        userMessageId: question.id,
        aborted: begun.aborted,
      };
  }
}

/** A begin whose outcome is unknown must not leave a run behind that nobody carries out. */
async function discard(runId: string, runs: RunStore): Promise<void> {
  for (let attempt = 0; attempt < 20; attempt += 1) {
    try {
      return await runs.discard(runId);
    } catch {
      await sleep(500 * (attempt + 1), undefined, { ref: false });
    }
  }
}

function toQuestion({ body, requestId, blobs, results, earlier }: Turn, now: number): StoredMessage {
  const held = {
    content: body.message,
    ...(results?.length && { toolCalls: results }),
    ...(body.attachments?.length && { attachments: body.attachments.map(toMessageAttachment) }),
  };
  return {
    id: body.messageId ?? uuidv7(),
    type: 'human',
    createdAt: new Date(now).toISOString(),
    status: 'complete',
    requestId,
    replaces: body.replaces,
    ...held,
    parts: toParts(held),
    files: toKeptFiles(blobs),
    earlier,
  };
}

/** Without the key of an encrypted file. */
function toMessageAttachment({ file, ...attachment }: Attachment): MessageAttachment {
  return file ? { mxcUri: file.url, ...attachment } : attachment;
}
