// A page with an unmodified useChat: a field, the messages, and a tool that runs here.
import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithToolCalls } from 'ai';
import { createElement as h, useState } from 'react';
import { createRoot } from 'react-dom/client';

const { url, token, chat: id } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const tools = { read_title: { description: 'The title of the page.', parameters: { type: 'object', properties: {} } } };
const headers = { authorization: `Bearer ${token}` };
const transport = new DefaultChatTransport({ api: `${url}/api/chat`, headers, body: { tools } });

function Chat() {
  const [text, setText] = useState('');
  const { messages, sendMessage, addToolOutput, status, error } = useChat({
    id,
    transport,
    resume: true,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
    onToolCall({ toolCall: { toolName: tool, toolCallId } }) {
      if (tool === 'read_title') addToolOutput({ tool, toolCallId, output: { title: document.title } });
    },
  });
  const submit = (event) => {
    event.preventDefault();
    sendMessage({ text });
    setText('');
  };
  return h(
    'main',
    null,
    ...messages.map(({ id: key, role, parts }) =>
      h('p', { key, className: role }, parts.map((part) => (part.type === 'text' ? part.text : '')).join('')),
    ),
    h('form', { onSubmit: submit }, h('input', { value: text, onChange: ({ target }) => setText(target.value) })),
    h('output', null, error?.message ?? status),
  );
}

createRoot(document.getElementById('root')).render(h(Chat));
