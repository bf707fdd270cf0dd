import type { ProgramFiles } from './program-api.ts';

/** One request of a call that was tried, and its reply as a telecom gateway gets it. */
export interface TriedStep {
  sent: string;
  reply: string;
}

/** Adds a call to the program's `flows/`, as `palaver program test` plays it. Answers that look like a PIN are not kept. */
export async function addFlow(
  files: ProgramFiles,
  { name, code, steps }: { name: string; code: string; steps: readonly TriedStep[] },
): Promise<{ files: ProgramFiles; path: string }> {
  const { formatFlow } = await import('@palaver/ussd/commands/flow');
  const { maskSecrets } = await import('@palaver/ussd/commands/flow');
  const flow = steps.map(({ sent, reply }, i) => (i === 0 ? { dial: code, reply } : { send: sent, reply }));
  const path = toFreePath(files, name);
  return { files: { ...files, [path]: formatFlow({ name, steps: maskSecrets(flow) }) }, path };
}

function toFreePath(files: ProgramFiles, name: string): string {
  const stem =
    name
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-|-$/g, '')
      .slice(0, 60) || 'call';
  let path = `flows/${stem}.yaml`;
  for (let number = 2; path in files; number++) path = `flows/${stem}-${number}.yaml`;
  return path;
}
