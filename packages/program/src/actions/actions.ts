import type { z } from 'zod';
import { assistant } from './assistant.ts';
import { claim } from './claim.ts';
import { find } from './find.ts';
import { http } from './http.ts';
import type { ActionKeyword } from './keyword.ts';
import { protocol } from './protocol.ts';
import { sms } from './sms.ts';
import { store } from './store.ts';
import { total } from './total.ts';
import { update } from './update.ts';

/** The keywords of actions that need no code. A new one is a file beside this one and a line here; the host runs it. */
export const actionKeywords = { store, find, total, update, http, protocol, sms, assistant, claim };

export type BuiltInName = keyof typeof actionKeywords;
export type BuiltIn<Name extends BuiltInName = BuiltInName> = z.infer<(typeof actionKeywords)[Name]['schema']>;
export const builtInNames = Object.keys(actionKeywords) as BuiltInName[];

export const keywordOf = (name: string): ActionKeyword => actionKeywords[name as BuiltInName];
