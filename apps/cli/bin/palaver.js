#!/usr/bin/env node
// Plain JavaScript that any Node can read. A published package runs its built code on the machine's Node. A checkout runs
// its sources; under an older Node it hands over to the one that is installed with it.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const isCheckout = existsSync(new URL('../src/main.ts', import.meta.url));
const [major, minor] = process.versions.node.split('.').map(Number);

// Node calls its SQLite experimental and a module of own actions slow to load: no reader of a command's output needs that.
const { emitWarning } = process;
process.emitWarning = (warning, ...rest) => {
  const isKnown = String(warning).startsWith('SQLite is an experimental');
  if (!isKnown && rest[0]?.code !== 'MODULE_TYPELESS_PACKAGE_JSON') emitWarning.call(process, warning, ...rest);
};

if (isCheckout ? major >= 24 : major > 22 || (major === 22 && minor >= 18)) {
  // Loading the services takes a second or two.
  if (process.argv.slice(2).join() === 'up') console.log('Starting Palaver …');
  await import(isCheckout ? '../src/main.ts' : '../dist/main.js');
} else if (isCheckout) {
  handOver();
} else {
  refuse('Palaver needs Node 22.18 or newer');
}

function handOver() {
  const modules = new URL('../../../node_modules/', import.meta.url);
  const platform = `${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`;
  const own = [`node-${platform}/bin/node`, `node-bin-${platform}/bin/node`, `node-${platform}/bin/node.exe`]
    .map((path) => fileURLToPath(new URL(path, modules)))
    .find((path) => existsSync(path));
  if (!own) return refuse('Palaver needs Node 24 or newer; "npm install" brings it');
  const child = spawn(own, process.argv.slice(1), { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('exit', (code, signal) => process.exit(code ?? (signal ? 1 : 0)));
}

function refuse(reason) {
  console.error(`${reason}. This is ${process.version}.`);
  process.exitCode = 1;
}
