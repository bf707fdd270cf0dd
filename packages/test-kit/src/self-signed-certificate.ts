import { generateKeyPairSync, sign } from 'node:crypto';

/** A certificate for a name and 127.0.0.1, made at each start (X.509 in DER, Ed25519), so that no private key is in the repository. */
export function createSelfSignedCertificate(host = 'localhost'): { key: string; cert: string } {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const algorithm = sequence(Buffer.from('06032b6570', 'hex'));
  const commonName = sequence(Buffer.from('0603550403', 'hex'), tag(0x0c, Buffer.from(host)));
  const name = sequence(tag(0x31, commonName));
  const validity = sequence(tag(0x17, Buffer.from('250101000000Z')), tag(0x17, Buffer.from('491231235959Z')));
  const names = sequence(tag(0x82, Buffer.from(host)), tag(0x87, Buffer.from([127, 0, 0, 1])));
  const extension = sequence(Buffer.from('0603551d11', 'hex'), tag(0x04, names));
  const body = sequence(
    tag(0xa0, Buffer.from('020102', 'hex')),
    Buffer.from('020101', 'hex'),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ format: 'der', type: 'spki' }),
    tag(0xa3, sequence(extension)),
  );
  const signature = tag(0x03, Buffer.from([0]), sign(null, body, privateKey));
  const base64 = sequence(body, algorithm, signature).toString('base64');
  return {
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`,
  };
}

function sequence(...parts: Buffer[]): Buffer {
  return tag(0x30, ...parts);
}

function tag(type: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([type, ...size]), content]);
}
