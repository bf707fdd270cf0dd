import type { Env } from '@palaver/service-kit';
import { fetchBounded } from '@palaver/service-kit/internal';

const ollama = 'http://127.0.0.1:11434/v1';
const waitMs = 500;

export async function describeLocalModel(env: Env, address = ollama): Promise<string | undefined> {
  if (env.LLM_BASE_URL || (env.LLM_PROVIDER && env.LLM_PROVIDER !== 'offline')) return undefined;
  try {
    const response = await fetchBounded(`${address}/models`, { timeoutMs: waitMs });
    const { data } = (await response.json()) as { data: { id: unknown }[] };
    const model = data.map(({ id }) => id).find((id) => typeof id === 'string' && /^[\w./:-]{1,100}$/.test(id));
    const setting = `LLM_BASE_URL=${address} LLM_MODEL=${model ?? '<model>'}`;
    return `A language model server answers on this machine. To use it: ${setting} npx palaver up\n`;
  } catch {
    return undefined;
  }
}
