#!/usr/bin/env node
import { spawnSync } from 'node:child_process';
import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { writeProject } from './write-project.ts';

const usage = `Usage: npm create palaver@latest [name] [-- options]

Write a project for a new agent into a folder of that name and install its packages.

Options:
  --yes         Ask nothing; the name is my-agent unless given.
  --no-install  Do not run npm install.
  --help        Show this text.
`;
const defaultName = 'my-agent';

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    allowNegative: true,
    options: {
      yes: { type: 'boolean', default: false },
      install: { type: 'boolean', default: true },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return print(usage);
  if (positionals.length > 1)
    throw new Error(`One name is expected, not ${positionals.length}: ${positionals.join(' ')}`);
  const name = positionals[0] ?? (values.yes || !process.stdin.isTTY ? defaultName : await askName());
  const files = writeProject(name);
  print(`\n${name}/\n${files.map((file) => `  ${file}\n`).join('')}\n`);
  const installed = values.install && install(name);
  if (values.install && !installed) process.exitCode = 1;
  print(
    `\nNext:\n  cd ${name}\n${installed ? '' : '  npm install\n'}  npm run dev\n\nThe README in that folder explains the rest.\n`,
  );
}

async function askName(): Promise<string> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  const answer = await terminal.question(`Name of the project (${defaultName}): `);
  terminal.close();
  return answer.trim() || defaultName;
}

function install(folder: string): boolean {
  const { status } = spawnSync('npm', ['install', '--no-fund', '--no-audit'], {
    cwd: folder,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  });
  return status === 0;
}

function print(text: string): void {
  process.stdout.write(text);
}

main().catch((error: Error) => {
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
});
