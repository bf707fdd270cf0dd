'use client';

import { useState } from 'react';
import type { IChatOptions } from '../react/ui-components.ts';
import { useChat } from '../react/use-chat.ts';
import { useOracleSessions } from '../react/use-oracle-sessions.ts';
import { Composer } from './composer.tsx';
import { defaultLabels, type Labels } from './labels.ts';
import { Sessions } from './sessions.tsx';
import { Thread } from './thread.tsx';

export interface ChatProps extends Omit<IChatOptions, 'sessionId' | 'onPaymentRequiredError'> {
  onPaymentRequiredError?: IChatOptions['onPaymentRequiredError'] | undefined;
  /** The words of the interface, where they are not English. */
  labels?: Partial<Labels> | undefined;
  /** The direction of the page by default. */
  dir?: 'ltr' | 'rtl' | 'auto' | undefined;
}

const ignore = () => {};

/** A whole chat with an agent: conversations, messages and a place to write. */
export function Chat({ labels, dir, onPaymentRequiredError = ignore, ...options }: ChatProps) {
  const { oracleDid, overrides, uiComponents } = options;
  const words = { ...defaultLabels, ...labels };
  const list = useOracleSessions(oracleDid, { overrides });
  const [chosen, choose] = useState<string>();
  const sessionId = chosen ?? list.sessions[0]?.sessionId ?? '';
  const chat = useChat({ ...options, sessionId, onPaymentRequiredError });
  return (
    <section className="palaver-chat" dir={dir}>
      <Sessions list={list} sessionId={sessionId} onOpen={choose} labels={words} />
      <div className="palaver-conversation">
        {sessionId ? (
          <>
            <Thread chat={chat} labels={words} uiComponents={uiComponents} />
            <Composer chat={chat} labels={words} />
          </>
        ) : (
          <p className="palaver-empty" role="status">
            {chat.isSignedOut ? words.signedOut : list.isLoading ? words.connecting : !list.error && words.noSession}
          </p>
        )}
      </div>
    </section>
  );
}
