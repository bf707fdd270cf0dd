import fc from 'fast-check';
import { renderToStaticMarkup } from 'react-dom/server';
import { describe, expect, it } from 'vitest';
import { Markdown, PlainText } from './markdown.tsx';
import { splitBlocks } from './parse-blocks.ts';

const render = (text: string) => renderToStaticMarkup(<Markdown text={text} />);
const link = (href: string, text = href) =>
  `<a href="${href}" target="_blank" rel="noopener noreferrer nofollow">${text}</a>`;

describe('Markdown', () => {
  it.each([
    ['paragraphs', 'a\nb\n\nc', '<p>a<br/>b</p><p>c</p>'],
    ['headings', '# A\n### B #', '<h1>A</h1><h3>B</h3>'],
    [
      'emphasis',
      '**a** *b* __c__ _d_ ~~e~~',
      '<p><strong>a</strong> <em>b</em> <strong>c</strong> <em>d</em> <del>e</del></p>',
    ],
    ['emphasis inside emphasis', '**a *b* c**', '<p><strong>a <em>b</em> c</strong></p>'],
    ['characters that are not marks', 'snake_case_name 2 * 3 * 4 **open', '<p>snake_case_name 2 * 3 * 4 **open</p>'],
    ['escapes', '\\*a\\* \\x', '<p>*a* \\x</p>'],
    ['code', 'a `**b**` ``c`d``', '<p>a <code>**b**</code> <code>c`d</code></p>'],
    [
      'a fence',
      '```js\nlet a = "<b>";\n\n# no\n```\nend',
      '<pre><code class="language-js">let a = &quot;&lt;b&gt;&quot;;\n\n# no</code></pre><p>end</p>',
    ],
    ['a fence that is still open', '```\na', '<pre><code>a</code></pre>'],
    ['lists', '- a\n- b\n  - c\n- d', '<ul><li>a</li><li>b<ul><li>c</li></ul></li><li>d</li></ul>'],
    ['loose lists', '1. a\n\n2. b\n\nc', '<ol start="1"><li>a</li><li>b</li></ol><p>c</p>'],
    ['a list from a number', '3) a\n4) b', '<ol start="3"><li>a</li><li>b</li></ol>'],
    ['quotes', '> a\n> - b\n\nc', '<blockquote><p>a</p><ul><li>b</li></ul></blockquote><p>c</p>'],
    ['rules', 'a\n\n---\n\nb', '<p>a</p><hr/><p>b</p>'],
    [
      'tables',
      '| A | B |\n|---|:-:|\n| 1 | *2* |',
      '<table><thead><tr><th>A</th><th style="text-align:center">B</th></tr></thead><tbody><tr><td>1</td><td style="text-align:center"><em>2</em></td></tr></tbody></table>',
    ],
    [
      'links',
      '[a](https://x.example/y "t") <https://z.example/>',
      `<p>${link('https://x.example/y', 'a')} ${link('https://z.example/')}</p>`,
    ],
    [
      'no link in the text of a link',
      '[https://a.example *https://b.example/* <https://c.example>](https://x.example/)',
      `<p>${link('https://x.example/', 'https://a.example <em>https://b.example/</em> &lt;https://c.example&gt;')}</p>`,
    ],
    ['a picture without a text', '![](https://x.example/c.png)', `<p>${link('https://x.example/c.png')}</p>`],
    ['bare links', 'see https://x.example/a_b.', `<p>see ${link('https://x.example/a_b')}.</p>`],
    ['mail', '[m](mailto:a@x.example)', `<p>${link('mailto:a@x.example', 'm')}</p>`],
    ['pictures as links', '![cat](https://x.example/c.png)', `<p>${link('https://x.example/c.png', 'cat')}</p>`],
    ['HTML as text', '<img src=x onerror=alert(1)>', '<p>&lt;img src=x onerror=alert(1)&gt;</p>'],
    ['scripts in links as text', '[x](javascript:alert(1))', '<p>[x](javascript:alert(1))</p>'],
    ['data in links as text', '[x](data:text/html,hi)', '<p>[x](data:text/html,hi)</p>'],
  ])('draws %s', (_name, text, html) => {
    expect(render(text)).toBe(html);
  });

  it('makes only harmless elements and addresses, whatever it is given', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 12 }),
      fc.constantFrom('**', '*', '_', '`', '```\n', '[', '](', ')', '![', '> ', '- ', '1. ', '|', '\n', '\n\n', '# '),
      fc.constantFrom(
        'javascript:alert(1)',
        'JaVaScRiPt:',
        'data:text/html,',
        'https://x.example/',
        '<script>',
        '</p>',
      ),
    );
    const allowed = /^(p|br|em|strong|del|code|pre|a|ul|ol|li|blockquote|h[1-6]|hr|table|thead|tbody|tr|th|td)$/;
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        const html = render(pieces.join(''));
        for (const [, name = ''] of html.matchAll(/<\/?([a-z0-9]+)/gi)) expect(name).toMatch(allowed);
        for (const [, href = ''] of html.matchAll(/href="([^"]*)"/g)) expect(href).toMatch(/^(https?:\/\/|mailto:)/);
        for (const [tag = ''] of html.matchAll(/<[^>]*>/g)) expect(tag).not.toMatch(/\son\w+=/i);
      }),
      { numRuns: 300 },
    );
  });

  it('loses no letter of plain words', () => {
    const words = fc.array(fc.stringMatching(/^[a-z0-9,;]{1,8}$/), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(words, (list) => {
        expect(render(list.join(' '))).toBe(`<p>${list.join(' ')}</p>`);
      }),
    );
  });

  it('keeps earlier pieces as they are while a text grows', () => {
    const text = '# A\n\n- a\n- b\n\n```\nx\n\ny\n```\n\nlast paragraph that grows';
    const whole = splitBlocks(text);
    for (let length = 0; length <= text.length; length += 1) {
      const partial = splitBlocks(text.slice(0, length));
      expect(whole.slice(0, Math.max(partial.length - 1, 0))).toEqual(partial.slice(0, -1));
    }
  });

  it.each(['*', '_', '[', '`', '](', '> ', '**a ', '![', '- '])('is quick with hostile input (%s)', (mark) => {
    expect(render(mark.repeat(20_000)).length).toBeGreaterThan(0);
  });
});

it('plain text keeps its lines and nothing else', () => {
  expect(renderToStaticMarkup(<PlainText text={'**a**\nb\n\n<i>'} />)).toBe('<p>**a**<br/>b</p><p>&lt;i&gt;</p>');
});
