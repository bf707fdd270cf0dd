import { defineOraclePlugin, type OraclePlugin } from '@palaver/agent';
import { type DidDocument, didDocumentSchema } from '@palaver/contract/internal';
import type { FastifyRequest } from 'fastify';
import { toSilentManifest } from '../plugin-parts.ts';

export function createDidDocumentPlugin(): OraclePlugin {
  return defineOraclePlugin({
    name: 'did-document',
    version: '1.0.0',
    manifest: toSilentManifest('DID document', "Shows the agent's public key."),
    getRoutes: (ctx) => (server) => {
      const { oracle, urlOf } = ctx;
      const document = toDidDocument(oracle.keyDid, oracle.signingDid);
      const services = (request: FastifyRequest) => {
        const serviceEndpoint = urlOf(request);
        return ['oracleService', 'wsService'].map((type) => ({
          id: `${oracle.keyDid}#${type}`,
          type,
          serviceEndpoint,
        }));
      };
      const schema = {
        tags: ['Identity'],
        summary: "The agent's DID document",
        response: { 200: didDocumentSchema },
      };
      server.get('/.well-known/did.json', { schema }, async (request) => ({
        ...document,
        service: services(request),
      }));
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
