import { createInterface } from 'node:readline';
import { styleText } from 'node:util';
import type { SseEvent } from '@palaver/contract';
import { StartError } from '@palaver/service-kit';
import type { Command } from 'commander';
import { type AgentClient, createAgentClient } from '../agent-client.ts';
import { fetchAgentDid } from '../agent-did.ts';
import { loadUserKey, toKeyPath } from '../user-key.ts';

interface ChatOptions {
  session?: string;
  model?: string;
  key: string;
  reasoning?: boolean;
}

/** `palaver chat`: a conversation in the terminal. */
export function addChatCommand(program: Command): void {
  program
    .command('chat')
    .description('talk with an agent in the terminal; Ctrl-C stops an answer, Ctrl-D ends')
    .argument('[url]', 'address of the agent', 'http://127.0.0.1:4000')
    .option('--session <id>', 'go on with this session instead of a new one')
    .option('--model <id>', 'one of the models of GET /models')
    .option('--reasoning', 'show what the model thinks')
    .option('--key <file>', 'the key to sign with, made when it is not there', toKeyPath(process.env))
    .action(chat);
}

async function chat(url: string, options: ChatOptions): Promise<void> {
  const did = await fetchAgentDid(url);
  const { signer } = await loadUserKey(options.key);
  const client = createAgentClient({ url, did, signer });
  const session = options.session ?? (await client.createSession()).sessionId;
  process.stderr.write(dim(`You are ${signer.did()}\nSession ${session}\n`));
  const isTerminal = process.stdin.isTTY === true;
  const lines = createInterface({
    input: process.stdin,
    output: isTerminal ? process.stdout : undefined,
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
  if (isTerminal) lines.prompt();
  for await (const line of lines) {
    if (line.trim() !== '') {
      state.answering = true;
      await answer(client, session, { message: line, options }).catch(printError);
      state.answering = false;
    }
    if (isTerminal) lines.prompt();
  }
}

async function answer(
  client: AgentClient,
  session: string,
  { message, options }: { message: string; options: ChatOptions },
): Promise<void> {
  for await (const event of client.send(session, { message, model: options.model })) {
    process.stdout.write(show(event, options.reasoning ?? false));
  }
}

function show({ name, data }: SseEvent, withReasoning: boolean): string {
  switch (name) {
    case 'message':
      return data.content;
    case 'reasoning':
      return withReasoning ? dim(data.reasoning + (data.isComplete ? '\n' : '')) : '';
    case 'tool_call':
    case 'browser_tool_call':
    case 'action_call':
      if (data.status === 'isRunning') return dim(`⚙ ${data.toolName} ${JSON.stringify(data.args)}\n`);
      return data.error === undefined ? dim(`✓ ${data.toolName}\n`) : dim(`✗ ${data.toolName}: ${data.error}\n`);
    case 'render_component':
      return dim(`▣ ${data.componentName} ${JSON.stringify(data.args)}\n`);
    case 'error':
      return `\n${data.error} (${data.code})`;
    case 'done':
      return data.status === 'aborted' ? dim(' [stopped]\n') : '\n';
    default:
      return '';
  }
}

function printError(error: unknown): void {
  process.stderr.write(`${error instanceof StartError ? error.message : `The call failed: ${error}`}\n`);
  process.exitCode = 1;
}

function dim(text: string): string {
  return styleText('dim', text);
}
