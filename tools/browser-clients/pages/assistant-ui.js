// A page with the unmodified parts and styles of assistant-ui: its thread, its composer, and a tool that runs here.
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
import '@assistant-ui/styles/index.css';

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

const Text = ({ text }) => h('p', { className: 'aui-md-p' }, text);
const Tool = ({ toolName, result }) =>
  h('p', { className: 'aui-tool-fallback-trigger' }, `${toolName}: ${result === undefined ? 'runs' : 'done'}`);
const Message = (role) => () =>
  h(
    MessagePrimitive.Root,
    { className: `${role} aui-${role}-message-root`, 'data-role': role },
    h(
      'div',
      { className: `aui-${role}-message-content-wrapper` },
      h(
        'div',
        { className: `aui-${role}-message-content` },
        h(MessagePrimitive.Parts, { components: { Text, tools: { Fallback: Tool } } }),
      ),
    ),
  );

// What a theme of Tailwind defines otherwise.
const theme = {
  '--spacing': '0.25rem',
  '--radius-2xl': '1rem',
  '--text-sm': '0.875rem',
  '--leading-relaxed': '1.6',
  '--color-muted': '#f4f4f5',
  '--color-muted-foreground': '#71717a',
  '--color-foreground': '#18181b',
  '--thread-max-width': '42rem',
};
const style = { ...theme, display: 'flex', flexDirection: 'column', height: '90vh', fontFamily: 'sans-serif' };
const UserMessage = Message('user');
const AssistantMessage = Message('assistant');

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
      { className: 'aui-thread-root', style },
      h(
        ThreadPrimitive.Viewport,
        { className: 'aui-thread-viewport' },
        h(ThreadPrimitive.Messages, { components: { UserMessage, AssistantMessage } }),
        h(
          'div',
          { className: 'aui-thread-viewport-footer' },
          h(
            ComposerPrimitive.Root,
            { className: 'aui-composer-root', style: { border: '1px solid #e4e4e7', borderRadius: '1.5rem' } },
            h(ComposerPrimitive.Input, { className: 'aui-composer-input', placeholder: 'Ask' }),
          ),
        ),
      ),
    ),
    h('output', null, chat.error?.message ?? chat.status),
  );
}

createRoot(document.getElementById('root')).render(h(Chat));
