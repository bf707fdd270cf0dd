const maxLines = 500;
const maxLineLength = 8_000;
// Of every logger in this process; the oldest go first.
const lines: string[] = [];

/** Keeps a finished log line, if it is a warning or worse. */
export function keepLine(line: string): string {
  if (/^\{"level":"(?:warn|error|fatal)"/.test(line) && line.length <= maxLineLength) {
    lines.push(line);
    if (lines.length > maxLines) lines.shift();
  }
  return line;
}

/** A request by its id, which a client may use again, and from when to when it was served, in milliseconds. */
export interface LoggedRequest {
  requestId: string;
  since: number;
  until: number;
}

/** The kept lines of a request to a service, oldest first, masked as in the log. */
export function findLines(service: string, { requestId, since, until }: LoggedRequest): Record<string, unknown>[] {
  const id = JSON.stringify(requestId);
  return lines
    .filter((line) => line.includes(id))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter(({ service: name, requestId: ownId, time }) => {
      const at = Date.parse(String(time));
      return name === service && ownId === requestId && at >= since && at <= until;
    });
}
