import { z } from 'zod';

/** An amount with its coin, by the rules of the Cosmos SDK for names of coins. */
const coinPattern = /^(0|[1-9]\d{0,30})([a-zA-Z][a-zA-Z0-9/:._-]{2,127})$/;

export interface Coin {
  amount: bigint;
  denom: string;
}

/** `undefined` for a text that is no amount such as `1000uixo`. */
export function parseCoin(text: string): Coin | undefined {
  const [, amount, denom] = coinPattern.exec(text) ?? [];
  return amount === undefined || denom === undefined ? undefined : { amount: BigInt(amount), denom };
}

/** A variable that holds an amount above zero. */
export function envCoin(example = '1000uixo') {
  return z.string().transform((text, context): Coin => {
    const coin = parseCoin(text);
    if (coin && coin.amount > 0n) return coin;
    context.addIssue({ code: 'custom', message: `expected an amount such as ${example}` });
    return z.NEVER;
  });
}

/** `38500000 uixo` is 38.5 IXO; bridged coins are shown by the start of their hash. */
export function formatCoin({ denom, amount }: { denom: string; amount: string }): string {
  const micro = /^u([a-z]{2,15})$/.exec(denom)?.[1];
  if (!micro) return `${amount} ${denom.startsWith('ibc/') ? `ibc/${denom.slice(4, 10)}` : denom}`;
  const padded = amount.padStart(7, '0');
  const decimals = padded.slice(-6).replace(/0+$/, '');
  return `${padded.slice(0, -6)}${decimals && `.${decimals}`} ${micro.toUpperCase()}`;
}
