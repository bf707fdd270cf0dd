// CPU time of a key press in an ODK form of 49 questions, with instances in memory and rebuilt from their answers.
// It is that of the whole process, its thread for forms included. `npm run bench:ussd-forms`, about a minute.
import { readFileSync } from 'node:fs';
import { createForms } from '@palaver/forms/internal';
import type { FormProgress, FormScreen } from '@palaver/program/internal';

const folder = new URL('../../examples/household-survey/forms/', import.meta.url);
const read = (name: string) => readFileSync(new URL(name, folder), 'utf8');
const source = {
  xml: read('household.xml').trim(),
  attachments: { 'districts.csv': read('districts.csv'), 'villages.csv': read('villages.csv') },
};

interface Caller {
  progress?: FormProgress;
  screen?: FormScreen;
}

function answerTo({ type, count = 0, options = [] }: FormScreen): string {
  const answers: Partial<Record<FormScreen['type'], string>> = {
    text: 'Ana',
    integer: '3',
    decimal: '2.5',
    date: '01022020',
    time: '0730',
    rank: '3 2 1',
    another: count < 2 ? '1' : '2',
  };
  return answers[type] ?? options[0]?.key ?? '1';
}

const forms = createForms();
let presses = 0;

/** One key press; a form that is complete begins again. */
async function press(caller: Caller): Promise<void> {
  const { progress, screen } = caller;
  const reply = await forms.press(source, {
    language: 'en',
    phoneNumber: '+254700000001',
    ...(progress && { progress }),
    ...(screen && { input: answerTo(screen) }),
  });
  presses++;
  if (reply.kind === 'screen') Object.assign(caller, { progress: reply.progress, screen: reply.screen });
  else Object.assign(caller, { progress: undefined, screen: undefined });
}

async function measure(
  name: string,
  { count, warm, rounds }: { count: number; warm: number; rounds: number },
): Promise<void> {
  const callers: Caller[] = Array.from({ length: count }, () => ({}));
  for (let round = 0; round < warm; round++) for (const caller of callers) await press(caller);
  const memory = process.memoryUsage().rss;
  const cpu = process.cpuUsage();
  presses = 0;
  const startedAt = performance.now();
  for (let round = 0; round < rounds; round++) for (const caller of callers) await press(caller);
  const { user, system } = process.cpuUsage(cpu);
  const kept = callers.reduce((sum, { progress, screen }) => sum + JSON.stringify({ progress, screen }).length, 0);
  const ms = (value: number) => `${(value / presses).toFixed(2)} ms`;
  console.log(
    `${name}: ${presses} key presses, CPU ${ms((user + system) / 1_000)} each, ${ms(performance.now() - startedAt)} each on the clock; ` +
      `a session keeps ${(kept / count / 1_000).toFixed(1)} kB, the process ${(memory / 1e6).toFixed(0)} MB`,
  );
}

try {
  await measure('8 callers, instances in memory', { count: 8, warm: 12, rounds: 30 });
  await measure('80 callers in turn, instances rebuilt', { count: 80, warm: 3, rounds: 1 });
} finally {
  await forms.close();
}
