import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const template = join(import.meta.dirname, '../template');
const { version } = createRequire(import.meta.url)('../package.json');

/** npm does not pack a file named `.gitignore`, and reads any `package.json`. */
const targets: Record<string, string> = {
  'gitignore.txt': '.gitignore',
  'env-example.txt': '.env.example',
  'package.template.json': 'package.json',
};

export function writeProject(name: string): string[] {
  if (!/^[a-z0-9][a-z0-9-]{0,63}$/.test(name))
    throw new Error(`"${name}" cannot be the name of a project: use small letters, digits and hyphens.`);
  if (existsSync(name) && readdirSync(name).length > 0)
    throw new Error(`The folder ${name} is not empty. Choose another name, or empty it.`);
  mkdirSync(name, { recursive: true });
  const files = readdirSync(template).map((file) => {
    const target = targets[file] ?? file;
    cpSync(join(template, file), join(name, target));
    return target;
  });
  for (const file of ['package.json', 'README.md']) {
    const text = readFileSync(join(name, file), 'utf8');
    writeFileSync(join(name, file), text.replaceAll('__NAME__', name).replaceAll('__VERSION__', version));
  }
  return files.sort();
}
