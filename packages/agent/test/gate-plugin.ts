import { waitFor } from '@palaver/test-kit';
import { z } from 'zod';
import { defineOraclePlugin, type OraclePlugin } from '../src/index.ts';

export interface Gate {
  plugin: OraclePlugin;
  /** How many turns wait at the gate now. */
  waiting(): number;
  /** Resolves when exactly one turn waits there. */
  reached(): Promise<unknown>;
  /** Lets the one that has waited longest continue. */
  open(): void;
}

/** A plugin whose tool (`/tool gate {}`) holds a turn until the test opens it or the turn is cancelled. */
export function createGate(): Gate {
  const waiting: (() => void)[] = [];
  const plugin = defineOraclePlugin({
    name: 'gate',
    version: '1.0.0',
    manifest: { title: 'Gate', summary: 'Waits.', whenToUse: [], visibility: 'silent', stability: 'stable' },
    getTools: () => ({
      gate: {
        description: 'Waits until it is opened.',
        inputSchema: z.object({}),
        execute: (_args, rt) =>
          new Promise((resolve, reject) => {
            const go = () => resolve('opened');
            waiting.push(go);
            rt.abortSignal.addEventListener('abort', () => {
              if (waiting.includes(go)) waiting.splice(waiting.indexOf(go), 1);
              reject(rt.abortSignal.reason);
            });
          }),
      },
    }),
  });
  return {
    plugin,
    waiting: () => waiting.length,
    reached: () => waitFor('a turn at the gate', () => waiting.length === 1),
    open: () => waiting.shift()?.(),
  };
}
