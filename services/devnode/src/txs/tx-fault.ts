/** Why a transaction is refused, in the numbers of the module that refuses it. */
export interface TxFault {
  ok: false;
  codespace: string;
  code: number;
  log: string;
}

/** Numbers of the Cosmos SDK that wallets and libraries act on. */
export const sdkCodes = {
  decode: 2,
  unauthorized: 4,
  insufficientFunds: 5,
  unknownRequest: 6,
  invalidAddress: 7,
  invalidCoins: 10,
  outOfGas: 11,
  memoTooLarge: 12,
  alreadyInPool: 19,
  poolIsFull: 20,
  timeoutHeight: 30,
  wrongSequence: 32,
} as const;

export function refuseTx(name: keyof typeof sdkCodes, log: string): TxFault {
  return { ok: false, codespace: 'sdk', code: sdkCodes[name], log };
}

export function refuseClaim(code: number, log: string): TxFault {
  return { ok: false, codespace: 'claims', code, log };
}
