import { createElement, Fragment, type ReactNode } from 'react';
import { toMessageParts } from '../core/chat-message.ts';
import type { AnyEvent, MessageComponent, MessagePart, ToolCall } from '../core/wire.ts';
import { Markdown, PlainText } from '../markdown/markdown.tsx';
import { ContentView } from './content-view.tsx';
import { type IComponentMetadata, type MessageContent, toContentPart } from './message-content.ts';
import type { UIComponents } from './ui-components.ts';

interface RichMessage {
  content: MessageContent;
  type?: 'human' | 'ai';
  parts?: MessagePart[] | undefined;
  toolCalls?: ToolCall[] | undefined;
  components?: MessageComponent[] | undefined;
}

/** The content of a message, a whole message, an event, or several of these. */
export type Renderable = MessageContent | RichMessage | AnyEvent | readonly Renderable[] | null | undefined;

/** A message as React nodes in its order, with the components given here, else with the `uiComponents` of the page's chats. */
export function renderMessageContent(content: Renderable, components?: UIComponents): ReactNode {
  if (content === null || content === undefined || content === '') return null;
  if (typeof content === 'string') return <Markdown text={content} />;
  if (isList(content)) {
    return createElement(Fragment, null, ...content.map((part) => renderMessageContent(part, components)));
  }
  if ('eventName' in content) return renderMessageContent(toContentOfEvent(content), components);
  if ('props' in content) return <ContentView content={content} components={components} />;
  if (content.type === 'human' && typeof content.content === 'string') return <PlainText text={content.content} />;
  if (content.content && typeof content.content !== 'string') return renderMessageContent(content.content, components);
  const { content: text = '', ...rest } = content as RichMessage & { content?: string };
  return renderMessageContent(toMessageParts({ ...rest, content: text }).flatMap(toContentPart), components);
}

// `Array.isArray` does not narrow to readonly arrays.
const isList = (content: Renderable): content is readonly Renderable[] => Array.isArray(content);

function toContentOfEvent(event: AnyEvent): string | IComponentMetadata[] | null {
  switch (event.eventName) {
    case 'message':
      return event.payload.content;
    case 'render_component': {
      const { eventId: id, componentName: name, args, status } = event.payload;
      return [{ name, props: { id, args, status } }];
    }
    case 'tool_call': {
      const { eventId: id, toolName: name, ...call } = event.payload;
      return toContentPart({ type: 'tool_call', ...call, id, name }) as IComponentMetadata[];
    }
    case 'action_call':
    case 'browser_tool_call': {
      const { toolCallId: id, toolName: name, ...call } = event.payload;
      const type = event.eventName === 'action_call' ? 'action_call' : 'tool_call';
      return toContentPart({ status: 'isRunning', type, ...call, id, name }) as IComponentMetadata[];
    }
    default:
      return null;
  }
}
