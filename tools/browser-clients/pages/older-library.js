// A page with the unmodified older client library: a field, the messages, and a tool that runs here.
import { OraclesProvider, renderMessageContent, useChat } from '@ixo/oracles-client-sdk';
import { createElement as h } from 'react';
import { createRoot } from 'react-dom/client';
import { z } from 'zod';

const { url, did, user, token, delegation, chat } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const browserTools = {
  read_title: {
    toolName: 'read_title',
    description: 'The title of the page.',
    schema: z.object({}),
    fn: async () => ({ title: document.title }),
  },
};

function Chat() {
  const { messages, sendMessage, sendMessageError, isSending, isRealTimeConnected } = useChat({
    oracleDid: did,
    sessionId: chat,
    overrides: { baseUrl: url },
    browserTools,
    onPaymentRequiredError() {},
  });
  const submit = (event) => {
    event.preventDefault();
    const field = event.currentTarget.elements[0];
    sendMessage(field.value);
    field.value = '';
  };
  return h(
    'main',
    null,
    ...messages.map(({ id, type, content }) =>
      h('p', { key: id, className: type === 'ai' ? 'assistant' : 'user' }, renderMessageContent(content)),
    ),
    // Tools of the page need its socket.
    isRealTimeConnected && h('form', { onSubmit: submit }, h('input')),
    h('output', null, sendMessageError?.message ?? (isSending ? 'sending' : 'ready')),
  );
}

const expiresAt = Date.now() + 3_600_000;
const provider = {
  initialWallet: { address: 'ixo1', did: user, matrix: { accessToken: '' } },
  transactSignX: async () => undefined,
  createDelegation: async () => ({ serialized: delegation, expiresAt }),
  createInvocation: async () => ({ serialized: token, expiresAt }),
};
createRoot(document.getElementById('root')).render(h(OraclesProvider, provider, h(Chat)));
