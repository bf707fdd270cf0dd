import { readTaskWish } from './offline-tasks.ts';

/** A request the offline model knows how to fulfil with a tool. */
export interface Wish {
  tool: string;
  args: Record<string, unknown>;
  reasoning: string;
}

// Up to the end of the clause: "call me Ana and answer in French" holds two wishes.
const rest = '((?:(?! and | et | na |[.!?,;\\n]).){1,80})';

// First match wins. A preference is how to answer; a fact about the user is for the memory.
const preferences: { pattern: RegExp; args(match: string): Record<string, string> }[] = [
  { pattern: new RegExp(`\\b(?:please )?call me ${rest}`, 'i'), args: (userName) => ({ userName }) },
  {
    pattern: new RegExp(`\\b(?:i(?:'ll| will)? call you|your name is|you are called|be called) ${rest}`, 'i'),
    args: (agentName) => ({ agentName }),
  },
  {
    pattern:
      /\b(?:always )?(?:answer|reply|respond|speak|write|talk)(?: to me)? (?:only )?in ([a-z]{2,20}(?:-[a-z]{2,8})?)\b/i,
    args: (language) => ({ language }),
  },
  {
    pattern:
      /\b(?:be|keep it|keep your answers|answers should be|answer) (?:very |more )?(brief|short|concise|detailed|long)\b/i,
    args: (length) => ({ length }),
  },
  {
    pattern: /\b(?:be|sound|stay) (?:more )?(casual|neutral|formal)\b/i,
    args: (formality) => ({ formality: formality.toLowerCase() }),
  },
  {
    pattern: /\b(?:be|sound) (?:more )?(friendly|polite|dry|encouraging|cheerful|serious|funny)\b/i,
    args: (tone) => ({ tone }),
  },
  {
    pattern:
      /\b(?:use|answer (?:with|in)|format (?:as|with)) (bullet points|plain text|markdown|tables|numbered lists)\b/i,
    args: (format) => ({ format }),
  },
];

/** A wish for this answer alone is met without being kept. */
const onlyNow =
  /\b(?:just )?(?:this (?:once|time|one)|for (?:this|now)|only (?:now|once)|this (?:answer|question|message))\b|\banswer this\b/i;

export function readWish(text: string): Wish | undefined {
  return readTaskWish(text) ?? readMemoryWish(text) ?? (onlyNow.test(text) ? undefined : readPreference(text));
}

function readMemoryWish(text: string): Wish | undefined {
  const fact = /^(?:please )?remember(?: that)?:? (.{1,2000})$/is.exec(text)?.[1];
  if (fact)
    return {
      tool: 'remember',
      args: { text: fact.trim().replace(/\.$/, '') },
      reasoning: 'The user asks me to remember something.',
    };
  const query = /what (?:do|can) you remember(?: about (.{1,200}?))?\??$/is.exec(text);
  if (query)
    return { tool: 'recall', args: query[1] ? { query: query[1] } : {}, reasoning: 'The user asks what I remember.' };
  const gone = /^(?:please )?forget(?: about| that)? (.{1,200})$/is.exec(text)?.[1];
  if (gone)
    return {
      tool: 'forget',
      args: { query: gone.trim().replace(/\.$/, '') },
      reasoning: 'The user asks me to forget something.',
    };
  return undefined;
}

function readPreference(text: string): Wish | undefined {
  const args: Record<string, string> = {};
  for (const { pattern, args: toArgs } of preferences) {
    const match = pattern.exec(text)?.[1]?.trim();
    if (match) Object.assign(args, toArgs(match));
  }
  if (Object.keys(args).length === 0) return undefined;
  return {
    tool: 'set_user_preferences',
    args,
    reasoning: 'The user tells me how they want to be answered; I keep it.',
  };
}
