import { createAgent, type OracleApp, type OracleAppOptions } from '@palaver/agent';
import { createBundledPlugins } from './create-bundled-plugins.ts';

/**
 * An agent with the bundled plugins and the author's, ready to listen: configuration from `env`, its database opened, its
 * plugins loaded.
 *
 * @example
 * ```ts
 * import { createOracleApp } from '@palaver/agent-plugins';
 *
 * const app = await createOracleApp({ config: { name: 'Farm helper' }, env: process.env });
 * console.log(await app.listen());
 * ```
 */
export function createOracleApp(options: OracleAppOptions = {}): Promise<OracleApp> {
  return createAgent({ ...options, plugins: [...createBundledPlugins(), ...(options.plugins ?? [])] });
}
