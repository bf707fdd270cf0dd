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
