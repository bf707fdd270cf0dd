import { renderMessageContent, useAgAction, useChat, useOracleSessions } from '@palaver/oracles-client-sdk';
import { useState } from 'react';
import { z } from 'zod';

const browserTools = {
  read_title: {
    toolName: 'read_title',
    description: 'Reads the title of the page.',
    schema: z.object({}),
    fn: () => ({ title: document.title }),
  },
};

export function Conversation({ oracleDid }) {
  const { createSession } = useOracleSessions(oracleDid);
  const [sessionId, choose] = useState('');
  const [text, setText] = useState('');
  useAgAction({
    name: 'show_rain',
    description: 'Shows the rain of a month.',
    parameters: z.object({ month: z.string(), millimetres: z.number() }),
    handler: async () => 'shown',
    render: ({ args, status }) => <b data-status={status}>{`${args.month}: ${args.millimetres} mm`}</b>,
  });
  const { messages, sendMessage, refetchMessages, status, isRealTimeConnected, sendMessageError } = useChat({
    oracleDid,
    sessionId,
    browserTools,
    onPaymentRequiredError: () => {},
  });
  if (!sessionId)
    return (
      <button type="button" onClick={async () => choose((await createSession()).sessionId)}>
        Start
      </button>
    );
  return (
    <form
      data-status={status}
      data-connected={isRealTimeConnected}
      onSubmit={(event) => {
        event.preventDefault();
        void sendMessage(text);
        setText('');
      }}
    >
      <ol>
        {messages.map((message) => (
          <li key={message.id} data-type={message.type} data-status={message.status}>
            {renderMessageContent(message.content)}
          </li>
        ))}
      </ol>
      {sendMessageError && <p role="alert">{sendMessageError.message}</p>}
      <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
      <button type="submit">Send</button>
      <button type="button" onClick={() => refetchMessages()}>
        Refresh
      </button>
    </form>
  );
}
