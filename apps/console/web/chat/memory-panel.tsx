import { useMemoryEngine } from '@palaver/oracles-client-sdk';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { Icon } from '../ui/icon.tsx';

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
      <h2>Memory</h2>
      {error ? (
        <p className="empty">This agent has no memory: {error.message}</p>
      ) : (
        <>
          <input
            className="input"
            type="search"
            aria-label="Search the memory"
            placeholder="Search"
            onChange={(event) => search(event.target.value)}
          />
          <ul className="memories">
            {memories.map(({ id, text: words }) => (
              <li key={id}>
                <span>{words}</span>
                <button
                  type="button"
                  className="icon-button"
                  aria-label={`Forget: ${words}`}
                  onClick={() => void deleteMemory(id)}
                >
                  <Icon name="close" size={16} />
                </button>
              </li>
            ))}
          </ul>
          {memories.length === 0 && !isLoading && <p className="empty">Nothing remembered.</p>}
          {hasMore && (
            <button type="button" className="button button-small" onClick={() => void loadMore()}>
              More
            </button>
          )}
          <form className="memory-add" onSubmit={(event) => void add(event)}>
            <input
              className="input"
              aria-label="Something to remember"
              placeholder="Something to remember"
              maxLength={1000}
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
            <button type="submit" className="button button-small" disabled={text.trim() === ''}>
              Add
            </button>
          </form>
        </>
      )}
    </section>
  );
}
