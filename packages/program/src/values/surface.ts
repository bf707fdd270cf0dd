import { ussdLimits } from '@palaver/contract';

/** What a program is shown on: a phone's USSD screen, a text message, a chat with buttons. */
export interface Surface {
  /** `gsm`: in the default alphabet of phones, where some characters count twice. `plain`: each character counts once. */
  counts: 'gsm' | 'plain';
  characters: number;
  /** How many it holds if one of them is outside the default alphabet (UCS-2). */
  wideCharacters?: number;
  lines?: number;
  /** Replace the keys 0 or 00, 98, * and 000. */
  keys?: { back?: string; more?: string; exit?: string; skip?: string };
  /** Buttons are beside the text and take no room in it. */
  choices: 'numbered' | 'buttons';
}

/** 160 octets of 7 bits are the longest text that a phone shows at once; they hold 80 characters of UCS-2. */
export const ussd: Surface = {
  counts: 'gsm',
  characters: ussdLimits.screenCharacters,
  wideCharacters: 80,
  choices: 'numbered',
};
