import type {
  LanguageModelV4Prompt,
  LanguageModelV4StreamPart,
  SharedV4ProviderMetadata,
  SharedV4ProviderOptions,
} from '@ai-sdk/provider';

/**
 * The output of the model in one step, in order, in the form in which it is sent back.
 *
 * @example
 * ```ts
 * import type { StepContent } from '@palaver/agent';
 *
 * export const texts = (content: StepContent) => content.filter(({ type }) => type === 'text');
 * ```
 */
export type StepContent = Extract<LanguageModelV4Prompt[number], { role: 'assistant' }>['content'];

type OpenPart = Extract<StepContent[number], { type: 'text' | 'reasoning' }>;
type ToolCallPart = Extract<StepContent[number], { type: 'tool-call' }>;

/**
 * Collects a stream into the content of an assistant message. Providers attach what they need to see again (signatures of
 * reasoning, ids of their own items) to any part of a text, a reasoning or a call; the last one counts.
 */
export function createContentCollector() {
  const content: StepContent = [];
  const open = new Map<string, OpenPart>();

  function addText(type: 'text' | 'reasoning', id: string, { delta = '', metadata }: TextPiece): void {
    const key = `${type} ${id}`;
    const known = open.get(key);
    const part: OpenPart = known ?? { type, text: '' };
    if (!known) {
      open.set(key, part);
      content.push(part);
    }
    part.text += delta;
    if (metadata) part.providerOptions = toOptions(metadata);
  }

  return {
    add(part: LanguageModelV4StreamPart): void {
      switch (part.type) {
        case 'text-start':
        case 'text-delta':
        case 'text-end':
        case 'reasoning-start':
        case 'reasoning-delta':
        case 'reasoning-end': {
          const type = part.type.startsWith('text') ? 'text' : 'reasoning';
          addText(type, part.id, { delta: 'delta' in part ? part.delta : '', metadata: part.providerMetadata });
          if (part.type === 'text-end' || part.type === 'reasoning-end') open.delete(`${type} ${part.id}`);
        }
      }
    },
    addCall(call: Omit<ToolCallPart, 'type'>, metadata: SharedV4ProviderMetadata | undefined): void {
      content.push({ type: 'tool-call', ...call, ...(metadata && { providerOptions: toOptions(metadata) }) });
    },
    /** Without empty parts. */
    toContent: (): StepContent =>
      content.filter((part) => !('text' in part) || part.text !== '' || part.providerOptions !== undefined),
  };
}

interface TextPiece {
  delta?: string;
  metadata: SharedV4ProviderMetadata | undefined;
}

function toOptions(metadata: SharedV4ProviderMetadata): SharedV4ProviderOptions {
  return metadata as SharedV4ProviderOptions;
}
