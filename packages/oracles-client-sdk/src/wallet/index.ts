export { createKeyWallet, importKeyWallet, type KeyWallet, type KeyWalletOptions } from './key-wallet.ts';
export { type Capability, mintToken, type TokenOptions, type TokenSigner } from './mint.ts';
export { createSignerWallet, type SignerWallet, type SignerWalletOptions, toKeyDid } from './signer-wallet.ts';
