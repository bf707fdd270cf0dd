// Writes docs/ussd-actions.md from the bundled actions. A test keeps it equal.
import { writeFileSync } from 'node:fs';
import { toActionReference } from '@palaver/ussd/commands/action-reference';

writeFileSync(new URL('../docs/ussd-actions.md', import.meta.url), toActionReference());
