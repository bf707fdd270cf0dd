import type { Env } from '@palaver/service-kit';
import { parseConfig } from '@palaver/service-kit/internal';
import type { Middleware } from './middleware.ts';
import type { OraclePlugin, PluginContext, PluginManifest } from './plugin.ts';
import type { SubAgent, Tools } from './tool.ts';

/** Which plugins are loaded, by name. */
export type Features = Record<string, boolean | 'auto'>;

export interface SelectOptions {
  plugins: OraclePlugin[];
  features: Features;
  manifestOverrides: Record<string, Partial<PluginManifest>>;
  env: Env;
}

export interface SelectedPlugin {
  plugin: OraclePlugin;
  manifest: PluginManifest;
  config: Record<string, unknown>;
}

/** Whether a plugin is loaded, and why. */
export interface PluginStatus {
  name: string;
  version: string;
  loaded: boolean;
  reason: string;
}

export interface LoadedPlugin {
  name: string;
  plugin: OraclePlugin;
  manifest: PluginManifest;
  ctx: PluginContext;
  tools: Tools;
  subAgents: SubAgent[];
  middlewares: Middleware[];
}

export function selectPlugins({ plugins, features, manifestOverrides, env }: SelectOptions) {
  const faults = checkNames(plugins, features, manifestOverrides);
  const status: PluginStatus[] = [];
  const wanted = new Map<string, SelectedPlugin>();
  for (const plugin of plugins) {
    const { load, reason } = decide(plugin, features[plugin.name] ?? 'auto', env);
    status.push({ name: plugin.name, version: plugin.version, loaded: load, reason });
    if (!load) continue;
    const manifest = { ...plugin.manifest, ...manifestOverrides[plugin.name] };
    faults.push(...checkManifest(plugin.name, manifest));
    const config = plugin.configSchema ? parseConfig(plugin.configSchema, env) : { config: {} };
    if ('faults' in config) faults.push(...config.faults.map((fault) => `plugin ${plugin.name}: ${fault}`));
    else wanted.set(plugin.name, { plugin, manifest, config: config.config });
  }
  return { selected: toOrder(wanted, plugins, faults), status, faults };
}

function decide(plugin: OraclePlugin, feature: boolean | 'auto', env: Env): { load: boolean; reason: string } {
  if (feature === false) return { load: false, reason: 'switched off by features' };
  if (feature === true) return { load: true, reason: 'switched on by features' };
  if (!plugin.autoDetect) return { load: true, reason: 'on by default' };
  if (plugin.autoDetect(env)) return { load: true, reason: 'found its configuration' };
  return { load: false, reason: plugin.autoDetectHint ?? 'its configuration is not there' };
}

function checkNames(plugins: OraclePlugin[], features: Features, overrides: Record<string, unknown>): string[] {
  const faults: string[] = [];
  const names = new Set<string>();
  for (const { name } of plugins) {
    if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name))
      faults.push(`plugin "${name}": its name must be kebab-case, such as my-plugin`);
    if (names.has(name)) faults.push(`plugin ${name}: it is given twice; remove one`);
    names.add(name);
  }
  for (const [option, named] of Object.entries({ features, manifestOverrides: overrides }))
    for (const name of Object.keys(named))
      if (!names.has(name)) faults.push(`${option}: there is no plugin ${name}; check the name`);
  return faults;
}

function checkManifest(name: string, { summary, whenToUse, visibility, tags = [] }: PluginManifest): string[] {
  const faults: string[] = [];
  if (summary.trim() === '') faults.push(`plugin ${name}: manifest.summary is empty; say in a sentence what it does`);
  if (visibility !== 'silent' && whenToUse.length === 0)
    faults.push(`plugin ${name}: manifest.whenToUse is empty; give at least one case, or make it silent`);
  for (const tag of tags)
    if (tag !== tag.toLowerCase()) faults.push(`plugin ${name}: the tag "${tag}" must be lowercase`);
  return faults;
}

/** Depth first, so that a plugin comes after those it needs; finds what is missing and what goes round in circles. */
function toOrder(wanted: Map<string, SelectedPlugin>, all: OraclePlugin[], faults: string[]): SelectedPlugin[] {
  const ordered: SelectedPlugin[] = [];
  const state = new Map<string, 'visiting' | 'done'>();

  function visit(name: string, path: string[]): void {
    const entry = wanted.get(name);
    if (!entry || state.get(name) === 'done') return;
    if (state.get(name) === 'visiting') {
      faults.push(
        `plugins ${[...path.slice(path.indexOf(name)), name].join(' → ')} depend on each other; break the circle`,
      );
      return;
    }
    state.set(name, 'visiting');
    for (const needed of entry.plugin.dependsOn ?? []) {
      if (!wanted.has(needed)) {
        const known = all.some((plugin) => plugin.name === needed);
        const remedy = known ? `switch it on (features: { "${needed}": true })` : 'add it to plugins';
        faults.push(`plugin ${name}: it depends on ${needed}, which is not loaded; ${remedy}`);
      }
      visit(needed, [...path, name]);
    }
    for (const preferred of entry.plugin.softDependsOn ?? [])
      if (state.get(preferred) !== 'visiting') visit(preferred, [...path, name]);
    state.set(name, 'done');
    ordered.push(entry);
  }

  for (const name of wanted.keys()) visit(name, []);
  return ordered;
}
