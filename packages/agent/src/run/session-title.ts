const maxCharacters = 60;

/** A name for a session from the first thing its user said: its first line, cut at a word. */
export function toSessionTitle(message: string): string {
  const [line = ''] = message.trim().split('\n');
  const words = line.replaceAll(/\s+/g, ' ').trim();
  const characters = [...words];
  if (characters.length <= maxCharacters) return words || 'Chat';
  const cut = characters.slice(0, maxCharacters).join('');
  const lastSpace = cut.lastIndexOf(' ');
  return `${(lastSpace > maxCharacters / 2 ? cut.slice(0, lastSpace) : cut).trimEnd()}…`;
}
