import { createInterface } from 'node:readline';
import { styleText } from 'node:util';
import type { SseEventData } from '@palaver/contract';
import { OracleError, type StreamEvent } from '@palaver/oracles-client-sdk/core';
import { StartError } from '@palaver/service-kit';
import { printable, toPrintableJson, toPrintableProse } from '@palaver/service-kit/internal';
import type { Command } from 'commander';
import { type AgentClient, createAgentClient, fetchAgentDid, loadUserKey, toKeyPath } from '../agent-client.ts';
import { createLineReader, type ReadLine } from '../line-reader.ts';
import { toServerUrl } from '../options.ts';

interface ChatOptions {
  session?: string;
  model?: string;
  key: string;
  reasoning?: boolean;
  json?: boolean;
}

export function addChatCommand(program: Command): void {
  program
    .command('chat')
    .description('chat with an agent in the terminal')
    .argument('[url]', 'address of the agent', toServerUrl, 'http://127.0.0.1:4000')
    .option('--session <id>', 'continue this session instead of a new one')
    .option('--model <id>', 'one of the models of GET /models')
    .option('--reasoning', 'show the reasoning of the model')
    .option('--json', 'print every event as one line of JSON')
    .option('--key <file>', 'file of the key to sign with; created if missing', toKeyPath(process.env))
    .addHelpText(
      'after',
      `
Each line is a message. Ctrl-C stops an answer, Ctrl-D ends the chat. Where a tool needs your approval, answer y or n.
Without a language model, /tool <name> <JSON> calls a tool.`,
    )
    .action(chat);
}

async function chat(url: string, options: ChatOptions): Promise<void> {
  const did = await fetchAgentDid(url);
  const { signer } = await loadUserKey(options.key);
  const client = createAgentClient({ url, did, signer });
  const opened = async () =>
    client.createSession().catch((cause: unknown) => {
      throw new StartError(toText(cause), { cause });
    });
  const session = options.session ?? (await opened()).sessionId;
  process.stderr.write(dim(printable`You are ${signer.did()}\nSession ${session}\n`));
  const isTerminal = process.stdin.isTTY === true;
  const lines = createInterface({
    input: process.stdin,
    // With --json, standard output has events alone, so that it can be written to a file.
    output: isTerminal ? (options.json ? process.stderr : process.stdout) : undefined,
    prompt: '› ',
  });
  const state = { answering: false };
  // In a terminal readline takes Ctrl-C; elsewhere it comes as a signal.
  const interrupt = () => {
    if (state.answering) client.abort(session).catch(printError);
    else lines.close();
  };
  lines.on('SIGINT', interrupt);
  process.on('SIGINT', interrupt);
  const readLine = createLineReader(lines, isTerminal);
  for (let line = await readLine(); line !== undefined; line = await readLine()) {
    if (line.trim() === '') continue;
    state.answering = true;
    await answer({ client, session, readLine, options }, line).catch(printError);
    state.answering = false;
  }
}

interface Talk {
  client: AgentClient;
  session: string;
  readLine: ReadLine;
  options: ChatOptions;
}

async function answer({ client, session, readLine, options }: Talk, message: string): Promise<void> {
  const approvals = createApprovalPrompt({ readLine, answer: client.answerApproval, onError: printError });
  try {
    await client.send(session, { message, model: options.model }, (event) => {
      const { eventName: name, payload: data } = event;
      process.stdout.write(
        options.json ? `${toPrintableJson({ name, data })}\n` : show(event, options.reasoning ?? false),
      );
      if (name === 'approval_request') approvals.onRequest(data);
    });
  } finally {
    approvals.close();
  }
}

function show({ eventName, payload: data }: StreamEvent, withReasoning: boolean): string {
  switch (eventName) {
    case 'message':
      return toPrintableProse(data.content);
    case 'reasoning':
      return withReasoning ? dim(toPrintableProse(data.reasoning) + (data.isComplete ? '\n' : '')) : '';
    case 'tool_call':
    case 'browser_tool_call':
    case 'action_call':
      if (data.status === 'isRunning') return dim(printable`⚙ ${data.toolName} ${toPrintableJson(data.args)}\n`);
      return data.error === undefined
        ? dim(printable`✓ ${data.toolName}\n`)
        : dim(printable`✗ ${data.toolName}: ${data.error}\n`);
    case 'approval_request':
      return data.status === 'pending' ? '' : dim(printable`${data.toolName} is ${data.status}\n`);
    case 'render_component':
      return dim(printable`▣ ${data.componentName} ${toPrintableJson(data.args)}\n`);
    case 'error':
      return printable`\n${data.error} (${data.code})`;
    case 'done':
      return data.status === 'aborted' ? dim(' [stopped]\n') : '\n';
    default:
      return '';
  }
}

function printError(error: unknown): void {
  process.stderr.write(`${toText(error)}\n`);
  process.exitCode = 1;
}

function toText(error: unknown): string {
  if (error instanceof StartError) return error.message;
  return error instanceof OracleError
    ? printable`${error.message} (${error.code})`
    : printable`The call failed: ${error}`;
}

const dim = (text: string): string => styleText('dim', text);

interface ApprovalQuestions {
  readLine(question: string, signal: AbortSignal): Promise<string | undefined>;
  answer(approvalId: string, approved: boolean): Promise<unknown>;
  onError(error: unknown): void;
}

/** Asks about tools one after the other, while the events of the run are read on. */
export function createApprovalPrompt({ readLine, answer, onError }: ApprovalQuestions) {
  const open = new Map<string, AbortController>();
  let asking: Promise<void> = Promise.resolve();

  async function ask(request: SseEventData['approval_request'], signal: AbortSignal): Promise<void> {
    const question = toQuestion(request);
    while (!signal.aborted) {
      const line = await readLine(question, signal);
      if (signal.aborted) return;
      // The end of the input approves nothing.
      const typed = line?.trim() ?? 'n';
      if (!/^(y|yes|n|no)$/i.test(typed)) continue;
      try {
        await answer(request.approvalId, /^y/i.test(typed));
        return;
      } catch (error) {
        onError(error);
        if (line === undefined) return;
      }
    }
  }

  return {
    onRequest(request: SseEventData['approval_request']): void {
      open.get(request.approvalId)?.abort();
      if (request.status !== 'pending') return;
      const controller = new AbortController();
      open.set(request.approvalId, controller);
      asking = asking.then(() => ask(request, controller.signal)).catch(onError);
    },
    close(): void {
      for (const controller of open.values()) controller.abort();
    },
  };
}

function toQuestion({ toolName, args, capability, invocation }: SseEventData['approval_request']): string {
  const call = printable`${toolName} ${toPrintableJson(args)}`;
  if (invocation) {
    const { audience, capability: asked } = invocation;
    return printable`${call} needs an invocation of ${toPrintableJson(asked)} for ${audience}. Sign it? (y/n) `;
  }
  if (!capability) return `${call} needs your approval. Run it? (y/n) `;
  return `${call} needs a delegation of ${toPrintableJson(capability)}. Sign it? (y/n) `;
}
