import { InvalidArgumentError } from 'commander';

export function toWholeNumber(text: string): number {
  if (/^[1-9]\d{0,9}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('expected a whole number');
}
