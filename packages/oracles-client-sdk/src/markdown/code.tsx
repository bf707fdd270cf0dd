'use client';

import { type ComponentType, createContext, createElement, type ReactNode, useContext } from 'react';

export interface CodeProps {
  language: string;
  text: string;
}

export const CodeContext = createContext<ComponentType<CodeProps>>(PlainCode);

function PlainCode({ language, text }: CodeProps): ReactNode {
  return (
    <pre>
      <code className={language ? `language-${language}` : undefined}>{text}</code>
    </pre>
  );
}

export function Code(props: CodeProps): ReactNode {
  return createElement(useContext(CodeContext), props);
}
