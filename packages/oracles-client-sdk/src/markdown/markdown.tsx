import { createElement, Fragment, memo, type ReactNode } from 'react';
import { Code } from './code.tsx';
import { type Align, type Block, parseBlocks, splitBlocks } from './parse-blocks.ts';
import type { Inline } from './parse-inline.ts';

/** Markdown as React elements. There is no HTML anywhere on the way, so there is none to be injected. */
export function Markdown({ text }: { text: string }): ReactNode {
  return inOrder(splitBlocks(text), (piece) => createElement(MarkdownPiece, { text: piece }));
}

const MarkdownPiece = memo(({ text }: { text: string }) => toBlocks(parseBlocks(text)));

/** Text as it was typed, line breaks kept. */
export function PlainText({ text }: { text: string }): ReactNode {
  return inOrder(text.split(/\n{2,}/), (paragraph) => (
    <p>
      {inOrder(paragraph.split('\n'), (line, index) => (index > 0 ? [createElement('br', { key: 0 }), line] : line))}
    </p>
  ));
}

/** Children by their place: an answer grows at its end, so places are what stays the same. */
function inOrder<T>(items: readonly T[], toNode: (item: T, index: number) => ReactNode = (item) => item as ReactNode) {
  return createElement(Fragment, null, ...items.map(toNode));
}

const toBlocks = (blocks: readonly Block[]): ReactNode => inOrder(blocks, toBlock);
const toInlines = (nodes: readonly Inline[]): ReactNode => inOrder(nodes, toInline);

function toBlock(block: Block): ReactNode {
  switch (block.type) {
    case 'heading':
      return createElement(`h${block.level}`, null, toInlines(block.children));
    case 'paragraph':
      return <p>{toInlines(block.children)}</p>;
    case 'code':
      return <Code language={block.language} text={block.text} />;
    case 'quote':
      return <blockquote>{toBlocks(block.blocks)}</blockquote>;
    case 'rule':
      return <hr />;
    case 'list': {
      const items = inOrder(block.items, (item) => createElement('li', null, toItem(item)));
      return block.start === undefined ? <ul>{items}</ul> : <ol start={block.start}>{items}</ol>;
    }
    case 'table':
      return (
        <table>
          <thead>{toRow(block.head, 'th', block.align)}</thead>
          <tbody>{inOrder(block.rows, (row) => toRow(row, 'td', block.align))}</tbody>
        </table>
      );
  }
}

/** An item of one line needs no paragraph around it. */
function toItem(blocks: readonly Block[]): ReactNode {
  const [first, ...rest] = blocks;
  if (first?.type !== 'paragraph') return toBlocks(blocks);
  return inOrder([toInlines(first.children), toBlocks(rest)]);
}

function toRow(cells: readonly Inline[][], tag: 'th' | 'td', align: readonly Align[]): ReactNode {
  const toProps = (textAlign: Align) => textAlign && { style: { textAlign } };
  return <tr>{inOrder(cells, (cell, at) => createElement(tag, toProps(align[at]), toInlines(cell)))}</tr>;
}

function toInline(node: Inline): ReactNode {
  if (typeof node === 'string') return node;
  switch (node.type) {
    case 'br':
      return <br />;
    case 'code':
      return <code>{node.text}</code>;
    case 'link':
      return (
        <a href={node.href} target="_blank" rel="noopener noreferrer nofollow">
          {toInlines(node.children)}
        </a>
      );
    default:
      return createElement(node.type, null, toInlines(node.children));
  }
}
