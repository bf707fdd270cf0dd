export interface CodeBlock {
  /** `docs/first-agent.md:12`, for messages. */
  place: string;
  language: string;
  /** The file name after the language, if the document gives one. */
  name: string | undefined;
  /** The block is added to the end of that file: `+` after the name. */
  isAdded: boolean;
  code: string;
  /** Declarations that the block needs and its readers do not: an HTML comment `<!-- given: … -->` just before it. */
  given: string;
}

/** The fenced code blocks of a Markdown document. */
export function toCodeBlocks(file: string, text: string): CodeBlock[] {
  const fence = /(?:<!-- given:(?<given>.*?)-->\n+)?^(?<indent> *)```(?<info>[^\n]*)\n(?<code>.*?)^\k<indent>```$/gms;
  return Array.from(text.matchAll(fence), ({ index, groups = {} }) => {
    const [language = '', name, plus] = (groups.info ?? '').trim().split(/\s+/);
    const line = text.slice(0, index).split('\n').length;
    const { code = '', given = '' } = groups;
    return { place: `${file}:${line}`, language, name, isAdded: plus === '+', code, given };
  });
}
