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
  const bin = new URL('../../../node_modules/node/bin/', import.meta.url);
  const own = ['node', 'node.exe'].map((name) => fileURLToPath(new URL(name, bin))).find(existsSync);
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
