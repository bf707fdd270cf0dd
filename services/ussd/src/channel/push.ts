import { randomUUID } from 'node:crypto';
import { AppError } from '@palaver/contract';
import { boundedText, phoneNumberSchema } from '@palaver/contract/internal';
import type { Logger } from '@palaver/service-kit';
import { z } from 'zod';
import type { Started } from '../calls/start-calls.ts';
import { codesOf, keywordsOf } from '../catalog/program-files.ts';
import { answersPerDay } from '../outgoing/messages.ts';
import type { Texts } from './texts.ts';

export const pushSchema = z.strictObject({
  program: boundedText(1, 40),
  phoneNumber: phoneNumberSchema,
  by: z.enum(['ussd', 'sms']).default('ussd'),
});

interface PushParts extends Started {
  texts: Texts;
  /** Opens a session at a phone; absent without SMPP. */
  pushScreen: ((phoneNumber: string, code: string) => Promise<boolean>) | undefined;
}

export type Push = (request: z.infer<typeof pushSchema>, log: Logger) => Promise<void>;

/** Starts a program at a phone: one that has called before, wants messages, and was left alone for a day. */
export function createPush({ config, programs, profiles, texts, pushScreen, clock }: PushParts): Push {
  return async ({ program, phoneNumber, by }, log) => {
    const menu = programs.current().find(({ id }) => id.startsWith(`${program}@`));
    if (!menu) throw new AppError('NOT_FOUND', 'There is no program of this name.');
    const [[code], [keyword]] = [codesOf(menu), keywordsOf(menu)];
    let open: () => Promise<boolean>;
    if (by === 'ussd') {
      if (!pushScreen || code === undefined)
        throw conflict(pushScreen ? 'The program has no code of its own.' : 'No link opens sessions: set SMPP_LINKS.');
      open = () => pushScreen(phoneNumber, code);
    } else {
      if (keyword === undefined) throw conflict('The program has no keyword, so that nobody could answer by SMS.');
      const person = { phoneNumber, to: config.SMS_FROM ?? '' };
      open = () => texts.open(person, keyword, { id: randomUUID(), log });
    }
    if (isQuiet(config.PUSH_QUIET_HOURS, new Date(clock.now()).getHours()))
      throw conflict(`Phones are left alone between ${config.PUSH_QUIET_HOURS.replace('-', ' and ')} o'clock.`);
    if (!(await profiles.takePush(phoneNumber, clock.now())))
      throw conflict('This number has never called, wants no messages, or was pushed to within the last 24 hours.');
    if (await open()) return;
    await profiles.returnPush(phoneNumber);
    throw by === 'ussd'
      ? new AppError('UNAVAILABLE', 'No session was opened at the phone.')
      : conflict(`This number has got the ${answersPerDay} messages of a day.`);
  };
}

const conflict = (message: string) => new AppError('CONFLICT', message);

/** `20-8` is from eight in the evening to eight in the morning. */
export function isQuiet(hours: string, hour: number): boolean {
  const [from = 0, to = 0] = hours.split('-').map(Number);
  return from <= to ? hour >= from && hour < to : hour >= from || hour < to;
}
