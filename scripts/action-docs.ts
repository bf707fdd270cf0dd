// Writes what documents and the console's editor say of keywords, from their files. A test keeps them equal.
import { readFileSync, writeFileSync } from 'node:fs';
import { toActionReference, toEditorFields, toStateReference } from '@palaver/ussd/commands/action-reference';

const at = (path: string) => new URL(`../${path}`, import.meta.url);
const menus = readFileSync(at('docs/ussd-menus.md'), 'utf8');
writeFileSync(at('docs/ussd-actions.md'), toActionReference());
writeFileSync(at('docs/ussd-menus.md'), menus.replace(/\| Kind[^\n]*\n(?:\|[^\n]*\n)+/, toStateReference));
writeFileSync(at('apps/console/web/programs/keywords.json'), toEditorFields());
