import { createOpenRosaClient } from '@palaver/forms/internal';
import type { UssdConfig } from '../config.ts';
import type { Deployment } from '../store/deployment.ts';
import { type AgentClient, createAgentClient, createAgentPerson, createTransportFor } from './agent-client.ts';
import { createAssistant, createQuestions } from './assistant.ts';
import { createMessages, startMessageSender } from './messages.ts';
import { createQueryClient } from './query-client.ts';
import { startSmppLinks } from './smpp-link.ts';
import { toSmsProvider } from './sms-provider.ts';
import { createSubmissions, startSender } from './submissions.ts';

interface OutgoingParts extends Deployment {
  /** From which the keys of callers at the agent derive. */
  secret: Uint8Array;
  servers?: { agent?: AgentClient } | undefined;
}

export type Outgoing = ReturnType<typeof startOutgoing>;

export function startOutgoing({ config, store, logger, clock, access, started, ...parts }: OutgoingParts) {
  const { secret, metrics, servers } = parts;
  const transportFor = config.AGENT_URL === undefined ? undefined : createTransportFor(config.AGENT_URL, secret);
  const agent = servers?.agent ?? (transportFor && createAgentClient(transportFor));
  const questions = createQuestions(store);
  const assistant = agent && createAssistant(agent, questions, config.ASSISTANT_WAIT_MS);
  started.defer(() => assistant?.close());
  const formsServer = toFormsServer(config);
  const sending = { store, clock, logger };
  const sender = formsServer && startSender({ ...sending, client: formsServer });
  started.defer(() => sender?.stop());
  const smpp = config.SMPP_LINKS.length > 0 ? startSmppLinks(config.SMPP_LINKS, logger) : undefined;
  started.defer(() => smpp?.stop());
  const provider = toSmsProvider(config, smpp);
  const messageSender = startMessageSender({ ...sending, provider, onDone: metrics.countSms });
  started.defer(() => messageSender.stop());
  return {
    questions,
    assistant,
    agentPerson: transportFor && createAgentPerson(transportFor),
    protocol: access && createQueryClient(access),
    formsServer,
    submissions: createSubmissions(store, { isSent: formsServer !== undefined }),
    sendSoon: messageSender.soon,
    messages: createMessages(store, { perDay: config.SMS_PER_DAY }),
    smpp,
  };
}

function toFormsServer(config: UssdConfig) {
  const { FORMS_SERVER: server, FORMS_SERVER_USER: user, FORMS_SERVER_PASSWORD: password = '' } = config;
  if (server === undefined) return undefined;
  return createOpenRosaClient({ server, credentials: user === undefined ? undefined : { user, password } });
}
