// A chat on a page without a framework: credentials, a transport, a session, a chat, and a function that draws it.
import {
  type ChatSnapshot,
  createAgentApi,
  createChat,
  createCredentialCache,
  createTransport,
  toChatStatus,
} from '@palaver/oracles-client-sdk/core';
import { createDelegation, createInvocation, createSigner } from '@palaver/ucan';
import { z } from 'zod';

const agentUrl = new URLSearchParams(location.search).get('agent') ?? 'http://127.0.0.1:4000';

// A real page has its user's wallet sign; here the user is a key that lives as long as the page.
const user = await createSigner();
const signIn = { can: 'oracle/*', with: 'ixo:oracle' } as const;
const reply = await fetch(`${agentUrl}/.well-known/did.json`);
const { id: oracleDid } = z.object({ id: z.string() }).parse(await reply.json());

const credentials = createCredentialCache({
  userDid: user.did(),
  // With a capability: what the user has approved, and nothing else.
  createDelegation: (audience, approved) =>
    createDelegation({ issuer: user, audience, capabilities: [approved ?? signIn] }),
  createInvocation: (audience, approved) =>
    createInvocation({ issuer: user, audience, capability: approved ?? signIn }),
});
const transport = createTransport({ baseUrl: agentUrl, oracleDid, credentials });
const { sessionId } = await createAgentApi(transport).createSession();

const chat = createChat({
  transport,
  sessionId,
  socketUrl: agentUrl,
  clientTools: () => ({
    browserTools: {
      title: {
        toolName: 'set_title',
        description: 'Changes the title of the page.',
        schema: z.object({ title: z.string().min(1).max(80) }),
        fn: ({ title }: { title: string }) => {
          document.title = title;
          return { title };
        },
      },
    },
  }),
});

function find<E extends HTMLElement>(id: string, kind: new () => E): E {
  const element = document.getElementById(id);
  if (element instanceof kind) return element;
  throw new Error(`the page has no #${id}`);
}
const list = find('messages', HTMLOListElement);
const text = find('text', HTMLInputElement);

function draw(state: ChatSnapshot): void {
  const items = state.messages.map(({ type, content, status }) => {
    const item = document.createElement('li');
    item.className = type;
    item.dataset.status = status;
    // As text, never as HTML: the words are a stranger's.
    item.textContent = content;
    return item;
  });
  list.replaceChildren(...items);
  const error = state.loadError ?? state.sendError;
  find('status', HTMLElement).textContent = `${toChatStatus(state)}${error ? `: ${error.message}` : ''}`;
  document.body.dataset.connected = String(state.isRealTimeConnected);
}

chat.subscribe(draw);
chat.start();
find('form', HTMLFormElement).addEventListener('submit', (event) => {
  event.preventDefault();
  void chat.send(text.value);
  text.value = '';
});
find('stop', HTMLButtonElement).addEventListener('click', () => void chat.abort());
