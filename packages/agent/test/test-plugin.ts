import type { OraclePlugin, PluginManifest } from '../src/define/plugin.ts';

type TestPlugin = Omit<Partial<OraclePlugin>, 'manifest'> & { name: string; manifest?: Partial<PluginManifest> };

/** A plugin for tests: silent, with nothing but what is given. */
export function createTestPlugin({ manifest, ...members }: TestPlugin): OraclePlugin {
  return {
    version: '1.0.0',
    ...members,
    manifest: {
      title: members.name,
      summary: `The ${members.name} plugin.`,
      whenToUse: ['a test asks for it'],
      visibility: 'silent',
      stability: 'stable',
      ...manifest,
    },
  };
}
