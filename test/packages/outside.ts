import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { startProcess, type TestProcess } from '@palaver/test-kit';
import { installTools } from '@palaver/test-kit/install-tools';

export type NodeLine = '22' | '24';

/** The folder of a Node program by its line; undefined if no package of it exists for this platform. */
export function nodeFolder(line: NodeLine): string | undefined {
  if (line === '24') return dirname(process.execPath);
  const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const modules = join(installTools('node-22'), 'node_modules');
  return [`node-${platform}`, `node-bin-${platform}`]
    .map((name) => join(modules, name, 'bin'))
    .find((path) => existsSync(path));
}

/**
 * A shell outside the repository, as a stranger has it: one Node, the machine's npm and way to the network, and a registry with
 * our packages.
 */
export function createShell({ home, registry, node }: { home: string; registry: string; node: string }) {
  const path = (process.env.PATH ?? '').split(delimiter).filter((folder) => !folder.includes('node_modules'));
  const { NODE_EXTRA_CA_CERTS, HTTPS_PROXY, NO_PROXY } = process.env;
  const env = {
    PATH: [node, ...path].join(delimiter),
    NODE_EXTRA_CA_CERTS,
    HTTPS_PROXY,
    NO_PROXY,
    npm_config_registry: registry,
    npm_config_cache: join(home, 'npm-cache'),
    npm_config_prefer_offline: 'true',
    npm_config_update_notifier: 'false',
    // As a person answers when npm asks whether to install create-palaver.
    npm_config_yes: 'true',
  };
  return {
    start: (command: string, cwd: string, more: Record<string, string> = {}): TestProcess =>
      startProcess('sh', ['-c', command], { cwd, env: { ...env, ...more }, group: true }),
    /** Runs a command to its end and returns what it printed. */
    async run(command: string, cwd: string, more: Record<string, string> = {}): Promise<string> {
      const { exited, output } = startProcess('sh', ['-c', command], { cwd, env: { ...env, ...more } });
      const code = await exited;
      if (code !== 0) throw new Error(`"${command}" ended with ${code}:\n${output()}`);
      return output();
    },
  };
}

export type Shell = ReturnType<typeof createShell>;

/** A cache for npm with the machine's downloads, but without the packages that `npx` has installed before. */
export function prepareCache(home: string): void {
  const cache = execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).trim();
  mkdirSync(join(home, 'npm-cache'), { recursive: true });
  mkdirSync(join(cache, '_cacache'), { recursive: true });
  symlinkSync(join(cache, '_cacache'), join(home, 'npm-cache/_cacache'));
}
