#!/usr/bin/env node
// Plain JavaScript that any Node can read: under an older Node it hands over to the one the workspace brings along.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const needed = 24;

if (Number(process.versions.node.split('.')[0]) >= needed) {
  // Loading the services takes a second or two.
  if (process.argv.slice(2).join() === 'up') console.log('Starting Palaver …');
  await import('../src/main.ts');
} else {
  const modules = new URL('../../../node_modules/', import.meta.url);
  const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const own = [`node-${platform}/bin/node`, `node-bin-${platform}/bin/node`, `node-${platform}/bin/node.exe`]
    .map((path) => fileURLToPath(new URL(path, modules)))
    .find((path) => existsSync(path));
  if (!own) {
    console.error(
      `Palaver needs Node ${needed} or newer; this is ${process.version}. Run "npm install", which brings it.`,
    );
    process.exit(1);
  }
  const child = spawn(own, process.argv.slice(1), { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
}
