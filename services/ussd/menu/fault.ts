/** Something wrong in a menu or locale file, with the place to mend it. */
export interface Fault {
  file: string;
  line: number;
  state?: string;
  message: string;
}

export function formatFault({ file, line, state, message }: Fault): string {
  return `${file}:${line}: ${state === undefined ? '' : `state ${state}: `}${message}`;
}

/** Thrown by start-up code only: everything else gets the faults as a result. */
export class MenuFaultError extends Error {
  override readonly name = 'MenuFaultError';
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(`the menus cannot be used:\n${faults.map((fault) => `  ${formatFault(fault)}`).join('\n')}`);
    this.faults = faults;
  }
}
