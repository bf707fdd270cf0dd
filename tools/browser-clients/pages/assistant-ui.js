// A page with the unmodified parts of assistant-ui: its thread, its composer, and a tool that runs here.
import { useChat } from '@ai-sdk/react';
import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  MessagePrimitive,
  makeAssistantTool,
  ThreadPrimitive,
} from '@assistant-ui/react';
import { AssistantChatTransport, useAISDKRuntime } from '@assistant-ui/react-ai-sdk';
import { lastAssistantMessageIsCompleteWithToolCalls } from 'ai';
import { createElement as h } from 'react';
import { createRoot } from 'react-dom/client';
import { z } from 'zod';

const { url, token, chat: id } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const transport = new AssistantChatTransport({
  api: `${url}/api/chat`,
  headers: { authorization: `Bearer ${token}` },
  // The chat is this session, whatever the thread list calls it.
  prepareSendMessagesRequest: ({ body, messages }) => ({ body: { ...body, id, messages } }),
});

const ReadTitle = makeAssistantTool({
  toolName: 'read_title',
  description: 'The title of the page.',
  parameters: z.object({}),
  execute: async () => ({ title: document.title }),
});

const Text = ({ text }) => h('p', null, text);
const Message = (role) => () =>
  h(MessagePrimitive.Root, { className: role }, h(MessagePrimitive.Parts, { components: { Text } }));

function Chat() {
  const sendAutomaticallyWhen = lastAssistantMessageIsCompleteWithToolCalls;
  const chat = useChat({ id, transport, resume: true, sendAutomaticallyWhen });
  const runtime = useAISDKRuntime(chat);
  transport.setRuntime(runtime);
  return h(
    AssistantRuntimeProvider,
    { runtime },
    h(ReadTitle),
    h(
      ThreadPrimitive.Root,
      null,
      h(ThreadPrimitive.Messages, {
        components: { UserMessage: Message('user'), AssistantMessage: Message('assistant') },
      }),
      h(ComposerPrimitive.Root, null, h(ComposerPrimitive.Input, { placeholder: 'Ask' })),
    ),
    h('output', null, chat.error?.message ?? chat.status),
  );
}

createRoot(document.getElementById('root')).render(h(Chat));
