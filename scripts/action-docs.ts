// Writes docs/ussd-actions.md from the actions that come along. A test keeps it equal.
import { writeFileSync } from 'node:fs';
import { toActionReference } from '@palaver/ussd/commands/action-reference';

writeFileSync(new URL('../docs/ussd-actions.md', import.meta.url), toActionReference());
