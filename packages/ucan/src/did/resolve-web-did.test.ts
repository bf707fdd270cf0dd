import { describe, expect, it } from 'vitest';
import { toDocumentUrl } from './resolve-web-did.ts';

describe('where a did:web has its document', () => {
  it.each([
    ['did:web:example.com', 'https://example.com/.well-known/did.json'],
    ['did:web:example.com%3A8443', 'https://example.com:8443/.well-known/did.json'],
    ['did:web:example.com%3a8443:users:ana', 'https://example.com:8443/users/ana/did.json'],
    ['did:web:Example.COM:Users', 'https://example.com/Users/did.json'],
    ['did:web:localhost', 'https://localhost/.well-known/did.json'],
  ])('%s', (did, url) => {
    expect(toDocumentUrl(did)?.href).toBe(url);
  });

  it.each([
    'did:web:',
    'did:web:127.0.0.1',
    'did:web:2130706433',
    'did:web:0x7f.1',
    'did:web:127.1',
    'did:web:example.com%3A99999',
    'did:web:example.com:..:secret',
    'did:web:example.com:.:x',
    'did:web:example.com::x',
    'did:web:example.com:a%2Fb',
    'did:web:user@example.com',
    'did:web:[::1]',
    'did:web:example.com/x',
    'did:web:example.com%3A',
    'did:web:..',
    'did:web:-',
  ])('not %s', (did) => {
    expect(toDocumentUrl(did)).toBeNull();
  });
});
