import { exitOnStartFault } from '@palaver/service-kit';
import { createProgram } from './create-program.ts';

createProgram().parseAsync().catch(exitOnStartFault);
