const maxCharacters = 1_500;
const lineCharacters = 120;

/** The offline model's summary: the user's own sentences, each shortened, the newest kept. */
export function planSummary(text: string, { system }: { system: string }): { text: string; toolCalls: [] } | undefined {
  if (!system.startsWith('Summarise this conversation ')) return undefined;
  const [, earlier = '', transcript = ''] =
    /^(?:Summary so far:\n([\s\S]*?)\n\n)?Conversation:\n([\s\S]*)$/.exec(text) ?? [];
  const said = transcript
    .split('\n')
    .flatMap((line) => (line.startsWith('User: ') ? [line.slice('User: '.length, lineCharacters).trim()] : []));
  const known = earlier.replace(/^The user said: /, '').split(' | ');
  const all = [...known, ...said].filter((line) => line !== '');
  let summary = all.join(' | ');
  while (summary.length > maxCharacters && all.length > 1) {
    all.shift();
    summary = all.join(' | ');
  }
  return { text: `The user said: ${summary.slice(0, maxCharacters)}`, toolCalls: [] };
}
