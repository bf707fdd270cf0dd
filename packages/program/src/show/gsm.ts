// The default alphabet of 3GPP TS 23.038 (GSM 03.38): what every phone can show, and what a character costs.
const basic =
  '@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&\'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà';
const extension = '^{}\\[~]|€';

const septets = new Map([
  ...Array.from(basic, (char) => [char, 1] as const),
  ...Array.from(extension, (char) => [char, 2] as const),
]);

// Characters that Unicode decomposition does not replace; others lose their marks (ê → e) or stay.
const replaced = `
‘' ’' ‚' ʼ' \`' ´' “" ”" „" «" »" ‹' ›' ‐- ‑- ‒- –- —- −- …... •- ·. ×x ÷/ →-> ←<- ≤<= ≥>= ≠!= °o
©(c) ®(R) ™(TM) œoe ŒOE ðd ÐD þth ÞTh łl ŁL đd ĐD ıi
`;
const replacements: Record<string, string> = {
  ...Object.fromEntries(Array.from(replaced.match(/\S+/g) ?? [], ([char = '', ...by]) => [char, by.join('')])),
  '\t': ' ',
};

export const isGsm = (text: string): boolean => countSeptets(text) !== undefined;

export function countSeptets(text: string): number | undefined {
  let total = 0;
  for (const char of text) {
    const cost = septets.get(char);
    if (cost === undefined) return undefined;
    total += cost;
  }
  return total;
}

/** Writes what phones cannot show with what they can; pictographs and invisible characters go, letters of other scripts stay. */
export function toShowable(text: string): string {
  if (isGsm(text)) return text;
  let out = '';
  for (const char of text.normalize('NFC').replace(/\r\n?|[\u2028\u2029]/g, '\n')) out += showChar(char);
  return out;
}

function showChar(char: string): string {
  if (septets.has(char)) return char;
  const replacement = replacements[char];
  if (replacement !== undefined) return replacement;
  if (/\p{Zs}/u.test(char)) return ' ';
  if (/[\p{Cf}\p{Cc}\p{Cs}\p{Extended_Pictographic}\p{Emoji_Modifier}\p{Variation_Selector}]/u.test(char)) return '';
  const bare = char.normalize('NFKD').replace(/\p{M}/gu, '').replace('⁄', '/');
  return bare !== '' && isGsm(bare) ? bare : char;
}
