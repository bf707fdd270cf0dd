/** An accumulated text of 182 characters has room for some fifty times `98`: nobody can page further than this. */
const maxCharacters = 8_000;

/** An answer as a phone can show it: the marks of Markdown go, its words stay. */
export function toPlainText(markdown: string): string {
  const plain = stripMarks(markdown);
  if (plain.length <= maxCharacters) return plain;
  const space = plain.lastIndexOf(' ', maxCharacters);
  return `${plain.slice(0, space > 0 ? space : maxCharacters)}...`;
}

function stripMarks(markdown: string): string {
  return markdown
    .replace(/\r\n?/g, '\n')
    .replace(/^```.*$/gm, '')
    .replace(/^ {0,3}#{1,6} +/gm, '')
    .replace(/^( *)[*+] +/gm, '$1- ')
    .replace(/!?\[([^\]\n]+)\]\(([^)\s]+)\)/g, '$1 ($2)')
    .replace(/(\*\*|__)(?=\S)(.+?)(?<=\S)\1/g, '$2')
    .replace(/(?<![\w*])\*(?=\S)([^*\n]+?)(?<=\S)\*(?![\w*])/g, '$1')
    .replace(/`([^`\n]+)`/g, '$1')
    .replace(/[ \t]+$/gm, '')
    .replace(/\n{2,}/g, '\n')
    .trim();
}
