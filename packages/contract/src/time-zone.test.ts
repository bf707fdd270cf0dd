import { expect, test } from 'vitest';
import { isTimeZone } from './time-zone.ts';

test.each(['UTC', 'Africa/Nairobi', 'America/Argentina/Buenos_Aires', 'Etc/GMT+5', 'Asia/Calcutta'])(
  '%j is known',
  (name) => {
    expect(isTimeZone(name)).toBe(true);
  },
);

test.each(['', 'Nairobi', 'Mars/Olympus', '+02:00', '+0200', 'GMT+2', ' UTC', 'UTC\n', '../UTC', 'A'.repeat(65)])(
  '%j is unknown',
  (name) => {
    expect(isTimeZone(name)).toBe(false);
  },
);
