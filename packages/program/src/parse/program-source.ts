/** A file of a program: where it is, for messages, and its place in the program. */
export interface SourceFile {
  file: string;
  /** Relative to the program's folder, with slashes: `program.yaml`, `locales/en.yaml`, `data/markets.csv`. */
  path: string;
  text: string;
}

/** Everything a program is made of. Nothing else is read to check or run it. */
export interface ProgramSource {
  name: string;
  files: readonly SourceFile[];
}

export const programFile = 'program.yaml';

const localePath = /^locales\/([^/]+)\.ya?ml$/;

export function languageOf(path: string): string | undefined {
  return localePath.exec(path)?.[1];
}

/** States are in the YAML files of the folder itself. */
export function isMenuPath(path: string): boolean {
  return /^[^/]+\.ya?ml$/.test(path);
}
