import { createElement, Fragment, type ReactNode } from 'react';
import type { ChatMessage } from '../core/chat-message.ts';
import type { AnyEvent, ToolCall } from '../core/wire.ts';
import { Markdown, PlainText } from '../markdown/markdown.tsx';
import { CallView, ComponentView } from './call-view.tsx';
import type { UIComponents } from './oracles-context.ts';

type RichMessage = Pick<ChatMessage, 'content'> & Partial<Pick<ChatMessage, 'type' | 'toolCalls' | 'components'>>;

/** The text of a message, a whole message with its tool calls and components, an event, or several of these. */
export type MessageContent = string | RichMessage | AnyEvent | readonly MessageContent[] | null | undefined;

/**
 * What a message holds, as React nodes: its text as Markdown, its tool calls, actions and components. Components are
 * those given here, else the `uiComponents` of the page's chats.
 */
export function renderMessageContent(content: MessageContent, components?: UIComponents): ReactNode {
  if (content === null || content === undefined || content === '') return null;
  if (typeof content === 'string') return <Markdown text={content} />;
  if (isList(content)) {
    return createElement(Fragment, null, ...content.map((part) => renderMessageContent(part, components)));
  }
  if ('eventName' in content) return renderEvent(content, components);
  // An answer that only calls tools may come without a text.
  const text = content.content ?? '';
  return (
    <>
      {content.toolCalls?.map((call) => (
        <CallView key={call.id} call={call} components={components} />
      ))}
      {content.type === 'human' ? <PlainText text={text} /> : <Markdown text={text} />}
      {content.components?.map((component) => (
        <ComponentView key={component.eventId} component={component} components={components} />
      ))}
    </>
  );
}

// `Array.isArray` does not tell readonly arrays apart.
const isList = (content: MessageContent): content is readonly MessageContent[] => Array.isArray(content);

function renderEvent(event: AnyEvent, components: UIComponents | undefined): ReactNode {
  switch (event.eventName) {
    case 'message':
      return <Markdown text={event.payload.content} />;
    case 'render_component':
      return <ComponentView component={event.payload} components={components} />;
    case 'tool_call': {
      const { eventId: id, toolName: name, ...call } = event.payload;
      return <CallView call={{ ...call, id, name }} components={components} />;
    }
    case 'action_call':
    case 'browser_tool_call': {
      const { toolCallId: id, toolName: name, ...call } = event.payload;
      const outcome: Pick<ToolCall, 'status'> = { status: 'isRunning' };
      return <CallView call={{ ...outcome, ...call, id, name }} components={components} />;
    }
    default:
      return null;
  }
}
