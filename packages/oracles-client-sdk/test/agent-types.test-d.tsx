// A page that names its agent: this file does not compile where the agent's types do not reach `useChat`.
import { type InferAgent, tool } from '@palaver/agent';
import { createOracleApp } from '@palaver/agent-plugins';
import { renderMessageContent, type UIComponentsOf, useChat } from '@palaver/oracles-client-sdk';
import { z } from 'zod';

const createApp = () =>
  createOracleApp({
    tools: {
      price: tool({
        description: 'What a crop costs.',
        inputSchema: z.object({ crop: z.string(), unit: z.enum(['kg', 'bag']).default('kg') }),
        execute: async ({ crop, unit }) => ({ crop, unit: unit.toUpperCase(), asOf: new Date() }),
      }),
      count: tool({
        inputSchema: z.object({ upTo: z.number() }),
        async *execute({ upTo }) {
          for (let counted = 0; counted <= upTo; counted += 1) yield { counted };
        },
      }),
      sky: { inputSchema: z.object({ place: z.string() }), execute: async () => 'rain' },
    },
  });

type Farm = InferAgent<Awaited<ReturnType<typeof createApp>>, { Chart: { points: number[] } }>;

type Equal<A, B> = [A] extends [B] ? ([B] extends [A] ? true : never) : never;

const uiComponents: UIComponentsOf<Farm> = {
  price: ({ args, output, status }) => <b title={status}>{output?.unit.concat(args.crop)}</b>,
  Chart: ({ points, args }) => <i title={`${args.points.length}`}>{points.map((point) => point.toFixed())}</i>,
  ToolCall: ({ name }) => name,
};

export function Page() {
  const options = { oracleDid: 'did:key:z6Mk', sessionId: '', onPaymentRequiredError: () => {} };
  const { messages, setMessages } = useChat<Farm>({
    ...options,
    uiComponents,
    onFinish: (message) => message.toolCalls?.map(({ name }) => name.trim()),
  });
  for (const part of messages.flatMap(({ parts = [] }) => parts)) {
    if (part.type === 'component' && part.componentName === 'Chart')
      true satisfies Equal<typeof part.args.points, number[]>;
    if (part.type !== 'tool_call') continue;
    if (part.name === 'price') {
      true satisfies Equal<typeof part.args, { crop: string; unit?: 'kg' | 'bag' | undefined }>;
      true satisfies Equal<typeof part.output, { crop: string; unit: string; asOf: string } | undefined>;
      // @ts-expect-error: the tool has no such argument.
      part.args.place;
    } else if (part.name === 'count') true satisfies Equal<typeof part.output, { counted: number } | undefined>;
    else if (part.name === 'sky') true satisfies Equal<typeof part.output, string | undefined>;
    else part.output satisfies unknown;
    // @ts-expect-error: no tool has this name.
    part.name === 'prices';
  }
  setMessages((shown) => shown.slice(1));
  return messages.map((message) => renderMessageContent(message));
}

/** Pages that do not name their agent compile as before. */
export function OlderPage() {
  const { messages } = useChat({
    oracleDid: 'did:key:z6Mk',
    sessionId: '',
    onPaymentRequiredError: () => {},
    browserTools: {
      pick: { toolName: 'pick', description: '', schema: z.object({ id: z.number() }), fn: ({ id }) => id.toFixed() },
    },
  });
  for (const { content, toolCalls = [] } of messages) {
    for (const part of Array.isArray(content) ? content : [])
      if (typeof part !== 'string') part.props.output as string satisfies string;
    for (const { name, args } of toolCalls) if (name === 'anything') String(args.place);
  }
  return null;
}
