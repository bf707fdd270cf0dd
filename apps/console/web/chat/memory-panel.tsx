import { useMemoryEngine } from '@palaver/oracles-client-sdk';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { t } from '../i18n/text.ts';
import { Button, IconButton } from '../ui/button.tsx';

/** What the agent remembers of its user, who can add to it and make it forget. */
export function MemoryPanel({ oracleDid, turns }: { oracleDid: string; turns: number }) {
  const { memories, error, isLoading, hasMore, loadMore, search, addMemory, deleteMemory, refetch } =
    useMemoryEngine(oracleDid);
  const [text, setText] = useState('');
  const seen = useRef(turns);
  useEffect(() => {
    if (seen.current !== turns) void refetch();
    seen.current = turns;
  }, [turns, refetch]);
  const add = async (event: FormEvent) => {
    event.preventDefault();
    if (text.trim() === '') return;
    await addMemory(text.trim());
    setText('');
  };
  return (
    <section>
      <h2>{t('chat.memory')}</h2>
      {error ? (
        <p className="empty">{t('chat.noMemory', { message: error.message })}</p>
      ) : (
        <>
          <input
            className="input"
            type="search"
            aria-label={t('chat.searchMemory')}
            placeholder={t('chat.search')}
            onChange={(event) => search(event.target.value)}
          />
          <ul className="memories">
            {memories.map(({ id, text: words }) => (
              <li key={id}>
                <span dir="auto">{words}</span>
                <IconButton
                  icon="close"
                  size={16}
                  label={t('chat.forget', { text: words })}
                  onClick={() => void deleteMemory(id)}
                />
              </li>
            ))}
          </ul>
          {memories.length === 0 && !isLoading && <p className="empty">{t('chat.nothingRemembered')}</p>}
          {hasMore && (
            <Button small onClick={() => void loadMore()}>
              {t('chat.more')}
            </Button>
          )}
          <form className="memory-add" onSubmit={(event) => void add(event)}>
            <input
              className="input"
              aria-label={t('chat.toRemember')}
              placeholder={t('chat.toRemember')}
              maxLength={1000}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
            <Button type="submit" small disabled={text.trim() === ''}>
              {t('chat.add')}
            </Button>
          </form>
        </>
      )}
    </section>
  );
}
