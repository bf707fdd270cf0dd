import { useContractOracle, useMemoryEngine, useOracleEvents } from '@palaver/oracles-client-sdk';
import { useState } from 'react';

/** Hooks without an agent of their own: the page has one. */
export function About() {
  const { contract, status, isContracted } = useContractOracle();
  const { memories, addMemory } = useMemoryEngine();
  const [events, setEvents] = useState([]);
  useOracleEvents(({ eventName }) => setEvents((before) => [...before, eventName]));
  return (
    <aside data-contract={status} data-contracted={isContracted} data-events={events.join(' ')}>
      <button type="button" onClick={() => contract()}>
        Contract
      </button>
      <button type="button" onClick={() => addMemory('Grows tea')}>
        Remember
      </button>
      <ul>
        {memories.map(({ id, text }) => (
          <li key={id}>{text}</li>
        ))}
      </ul>
    </aside>
  );
}
