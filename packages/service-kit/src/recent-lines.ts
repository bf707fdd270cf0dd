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

/** The kept lines of a request to a service, oldest first, masked as in the log. */
export function findLines(service: string, requestId: string): Record<string, unknown>[] {
  const id = JSON.stringify(requestId);
  return lines
    .filter((line) => line.includes(id))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((fields) => fields.service === service && fields.requestId === requestId);
}
