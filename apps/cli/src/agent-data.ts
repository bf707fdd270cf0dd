import type { UserData } from '@palaver/agent/user-data';
import type { Env } from '@palaver/service-kit';

/** Opens the agent's database with the tables of the bundled plugins. What it needs is loaded only then. */
export async function withAgentData<T>(env: Env, use: (data: UserData) => Promise<T>): Promise<T> {
  const { withUserData } = await import('@palaver/agent/user-data');
  const { createBundledPlugins } = await import('@palaver/agent-plugins');
  return withUserData(env, createBundledPlugins(), use);
}
