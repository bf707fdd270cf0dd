import { pinPattern } from '@palaver/contract/internal';
import type { Validator } from '@palaver/program/internal';
import { isWeakPin } from '../people/pin-rules.ts';

const ok = (value: string) => ({ ok: true, value }) as const;
const refuse = (hint: string) => ({ ok: false, hint }) as const;

export const validators: Record<string, Validator> = {
  name: {
    hints: ['hint.name'],
    check(input) {
      const name = input.normalize('NFC').replace(/\s+/g, ' ');
      // Letters with their marks in any script; a name that starts like a formula or is all digits is a slip of the keypad.
      return /^\p{L}[\p{L}\p{M}'’. -]{1,39}$/u.test(name) ? ok(name) : refuse('hint.name');
    },
  },
  pin: { hints: ['hint.pin'], check: (input) => (pinPattern.test(input) ? ok(input) : refuse('hint.pin')) },
  newPin: {
    hints: ['hint.pin', 'hint.weakPin', 'hint.oldPin'],
    check(input, { phoneNumber, answer }) {
      if (!pinPattern.test(input)) return refuse('hint.pin');
      if (input === answer('oldPin')) return refuse('hint.oldPin');
      return isWeakPin(input, phoneNumber) ? refuse('hint.weakPin') : ok(input);
    },
  },
  samePin: {
    hints: ['hint.pinMismatch'],
    check: (input, { answer }) => (input === answer('pin') ? ok(input) : refuse('hint.pinMismatch')),
  },
  amount: {
    hints: ['hint.amount'],
    type: 'decimal',
    check(input) {
      const match = /^0*(\d{1,9})(?:[.,](\d{1,3}))?$/.exec(input.replace(/\s/g, ''));
      const decimals = match?.[2]?.replace(/0+$/, '') ?? '';
      const amount = match ? `${match[1]}${decimals && `.${decimals}`}` : '';
      return Number(amount) > 0 ? ok(amount) : refuse('hint.amount');
    },
  },
  question: {
    hints: ['hint.question'],
    check: (input) => (input.length >= 2 && input.length <= 160 ? ok(input) : refuse('hint.question')),
  },
};
