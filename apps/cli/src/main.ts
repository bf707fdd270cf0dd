import { exitOnStartFault } from '@palaver/service-kit/internal';
import { createProgram } from './create-program.ts';

createProgram().parseAsync().catch(exitOnStartFault);
