import { createNumberMask } from '@palaver/service-kit/internal';
import type { FastifyRequest } from 'fastify';

type WhoAsks = FastifyRequest['operator'];

/** What the role of an operator may see of rows: for viewers phone numbers are masked, also where an answer holds one. */
export function showCallersTo(operator: WhoAsks): <Row extends { phoneNumber: string }>(row: Row) => Row {
  if (operator?.role !== 'viewer') return (row) => row;
  return maskCaller;
}

function maskCaller<Row extends { phoneNumber: string }>(row: Row): Row {
  const maskText = createNumberMask(row.phoneNumber);
  const mask = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(mask);
    if (typeof value === 'object' && value !== null)
      return Object.fromEntries(Object.entries(value).map(([name, field]) => [maskText(name), mask(field)]));
    if (typeof value !== 'string' && typeof value !== 'number') return value;
    const masked = maskText(String(value));
    return masked === String(value) ? value : masked;
  };
  return mask(row) as Row;
}

export async function* showPieces<Row>(pieces: AsyncIterable<Row[]>, show: (row: Row) => Row): AsyncGenerator<Row[]> {
  for await (const piece of pieces) yield piece.map(show);
}
