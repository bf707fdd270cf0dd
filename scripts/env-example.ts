// Writes .env.example from the services' configuration schemas. A test keeps the two equal.
import { writeFileSync } from 'node:fs';
import { toEnvExample } from 'palaver/env-example';

writeFileSync(new URL('../.env.example', import.meta.url), toEnvExample());
