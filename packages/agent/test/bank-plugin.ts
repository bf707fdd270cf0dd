import { appendFileSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import { defineOraclePlugin, type OraclePlugin, type Tools, tool } from '../src/index.ts';

/** What `withdraw` does in the user's name. */
export const withdrawal = (did: string) => ({ can: 'bank/withdraw', with: did, nb: { limit: 100 } });

/** A plugin whose tool `pay` needs approval for more than 10, and writes each payment to a file. */
export function createBank(paidFile: string): OraclePlugin {
  return defineOraclePlugin({
    name: 'bank',
    version: '1.0.0',
    manifest: { title: 'Bank', summary: 'Pays.', whenToUse: [], visibility: 'silent', stability: 'stable' },
    getTools: () => createTools(paidFile),
    getSubAgents: () => [
      { name: 'banker', description: 'Banks.', instructions: 'You are a banker.', tools: createTools(paidFile) },
    ],
  });
}

function createTools(paidFile: string): Tools {
  return {
    pay: tool({
      description: 'Pays somebody.',
      inputSchema: z.object({ to: z.string(), amount: z.number(), pin: z.string().optional() }),
      needsApproval: ({ amount }) => amount > 10,
      showArgs: ({ pin, ...args }) => args,
      execute({ to, amount }) {
        appendFileSync(paidFile, `${to} ${amount}\n`);
        if (to === 'crash') process.kill(process.pid, 'SIGKILL');
        return { paid: amount };
      },
    }),
    withdraw: tool({
      description: 'Withdraws money in the name of the user.',
      inputSchema: z.object({ amount: z.number() }),
      needsApproval: ({ amount }) => amount > 10,
      needsDelegation: (_args, { user }) => withdrawal(user.did),
      async execute({ amount }, { ucan, user }) {
        const capability = { ...withdrawal(user.did), nb: { limit: 100, amount } };
        await ucan.mintInvocation({ audience: 'did:web:bank.example', capability });
        appendFileSync(paidFile, `withdrawn ${amount}\n`);
        return { withdrawn: amount };
      },
    }),
  };
}

export function readPaid(paidFile: string): string[] {
  try {
    return readFileSync(paidFile, 'utf8').split('\n').filter(Boolean);
  } catch {
    return [];
  }
}
