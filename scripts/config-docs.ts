// Writes .env.example and docs/configuration.md from the services' configuration schemas. A test keeps them equal.
import { writeFileSync } from 'node:fs';
import { toConfigReference } from 'palaver/config-reference';
import { toEnvExample } from 'palaver/env-example';

writeFileSync(new URL('../.env.example', import.meta.url), toEnvExample());
writeFileSync(new URL('../docs/configuration.md', import.meta.url), toConfigReference());
