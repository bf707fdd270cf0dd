import { defineOraclePlugin, type OraclePlugin } from '@palaver/agent';
import { type DidDocument, didDocumentSchema } from '@palaver/contract/internal';
import { describeRoutes } from '@palaver/service-kit/internal';
import { toManifest } from '../plugin-parts.ts';

export function createDidDocumentPlugin(): OraclePlugin {
  return defineOraclePlugin({
    name: 'did-document',
    version: '1.0.0',
    manifest: toManifest('DID document', "Shows the agent's public key."),
    getRoutes: (ctx) => (server) => {
      const { oracle, urlOf } = ctx;
      const document = toDidDocument(oracle.keyDid, oracle.signingDid);
      const schema = describeRoutes('Identity')("The agent's DID document", { response: { 200: didDocumentSchema } });
      server.get('/.well-known/did.json', { schema }, async (request) => {
        const serviceEndpoint = urlOf(request);
        const types = ['oracleService', 'wsService'];
        return {
          ...document,
          service: types.map((type) => ({ id: `${oracle.keyDid}#${type}`, type, serviceEndpoint })),
        };
      });
    },
    getAuthExcludedRoutes: () => [{ path: '/.well-known/did.json', method: 'GET' }],
  });
}

function toDidDocument(id: string, signingDid: string): DidDocument {
  const multibase = signingDid.slice('did:key:'.length);
  const method = `${id}#${multibase}`;
  return {
    '@context': ['https://www.w3.org/ns/did/v1', 'https://w3id.org/security/multikey/v1'],
    id,
    verificationMethod: [{ id: method, type: 'Multikey', controller: id, publicKeyMultibase: multibase }],
    authentication: [method],
    assertionMethod: [method],
  };
}
