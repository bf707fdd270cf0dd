import { maskPhone } from '@palaver/service-kit/internal';
import type { FastifyRequest } from 'fastify';

type WhoAsks = FastifyRequest['operator'];

/** What the role of an operator may see of rows: for viewers the caller's number is masked, also where an answer holds it. */
export function showCallersTo(operator: WhoAsks): <Row extends { phoneNumber: string }>(row: Row) => Row {
  if (operator?.role !== 'viewer') return (row) => row;
  return maskCaller;
}

function maskCaller<Row extends { phoneNumber: string }>(row: Row): Row {
  // Without its plus, so that both ways of writing it are found.
  const digits = row.phoneNumber.replace(/^\+/, '');
  const mask = (_name: string, value: unknown) =>
    typeof value === 'string' || String(value) === digits
      ? String(value).replaceAll(digits, () => maskPhone(digits))
      : value;
  return JSON.parse(JSON.stringify(row, mask));
}

export async function* showPieces<Row>(pieces: AsyncIterable<Row[]>, show: (row: Row) => Row): AsyncGenerator<Row[]> {
  for await (const piece of pieces) yield piece.map(show);
}
