// A chat without a browser, React or zod: the key is Node's, the rest is the library.
import { generateKeyPairSync, sign } from 'node:crypto';
import { createAgentApi, createChat, createCredentialCache, createTransport } from '@palaver/oracles-client-sdk/core';
import { createSignerWallet, toKeyDid } from '@palaver/oracles-client-sdk/wallet';

const [url, oracleDid] = process.argv.slice(2);
const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const publicBytes = Buffer.from(publicKey.export({ format: 'jwk' }).x, 'base64url');
const wallet = createSignerWallet({
  did: toKeyDid(publicBytes),
  sign: async (bytes) => new Uint8Array(sign(null, bytes, privateKey)),
});
const credentials = createCredentialCache({ userDid: wallet.did, ...wallet });
const transport = createTransport({ baseUrl: url, oracleDid, credentials });
const { sessionId } = await createAgentApi(transport).createSession();

const chat = createChat({ transport, sessionId, socketUrl: url });
const stop = chat.start();
await chat.send('/long 3');
console.log(
  chat
    .get()
    .messages.map(({ type, content }) => `${type}: ${content}`)
    .join('\n'),
);
stop();
