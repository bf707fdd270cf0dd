import { join } from 'node:path';
import { startProcess, waitFor } from '@palaver/test-kit';

// biome-ignore lint/style/noProcessEnv: JSMPP comes from no npm package; who has it names it.
const classPath = process.env.JSMPP_CLASSPATH;
export const missingJsmpp = classPath === undefined && 'JSMPP_CLASSPATH is not set: see docs/decisions/smpp.md';

/** The centre itself ends all calls once none of them gets any further. */
const maxMs = 1_200_000;

export interface Transcript {
  callers: number;
  /** The first line of each. */
  screens: (string | undefined)[];
}

/** An SMSC and USSD centre on software by others; `callers` play each dialogue as soon as a link is bound. */
export async function startCentre(dialogues: string[][], { callers = 1, cutMs = 0 } = {}) {
  const inputs = dialogues.flatMap((dialogue) => ['--', ...dialogue]).slice(1);
  const centre = join(import.meta.dirname, 'UssdCentre.java');
  const java = startProcess('java', ['-cp', classPath ?? '', centre, String(callers), String(cutMs), ...inputs]);
  await java.printed(/PORT\t\d+/);
  return {
    url: `smpp://palaver:secret@127.0.0.1:${/PORT\t(\d+)/.exec(java.output())?.[1]}?window=50`,
    /** What the callers have read, and how many screens did not follow from what they typed. */
    async finished(): Promise<{ doubled: number; transcripts: Transcript[] }> {
      await waitFor('the end of all calls', () => /DONE\t\d+/.test(java.output()), maxMs);
      const read = [...java.output().matchAll(/READ\t(\d+)\t(\S+)/g)].map(([, count, text = '']) => {
        const screens = Buffer.from(text, 'base64').toString().split('\f');
        return { callers: Number(count), screens: screens.map((screen) => screen.split('\n')[0]) };
      });
      return { doubled: Number(/DONE\t(\d+)/.exec(java.output())?.[1]), transcripts: read };
    },
    async [Symbol.asyncDispose]() {
      java.kill();
    },
  };
}
