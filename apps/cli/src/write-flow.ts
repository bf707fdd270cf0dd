import { writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { StartError } from '@palaver/service-kit';
import { makeFolder } from '@palaver/service-kit/internal';
import { type Flow, formatFlow } from '@palaver/ussd/commands/flow';

/** Makes the folder of a file before the dialogue that is written to it, so that no dialogue is lost for want of one. */
export function prepareFlow(file: string): (flow: Flow) => void {
  refuse(file, () => makeFolder(dirname(file)));
  return (flow) => {
    refuse(file, () => writeFileSync(file, formatFlow(flow)));
    process.stderr.write(`${flow.steps.length} steps written to ${file}\n`);
  };
}

function refuse(file: string, write: () => void): void {
  try {
    write();
  } catch (error) {
    throw new StartError(`${file} cannot be written: ${(error as Error).message}`, { cause: error });
  }
}
