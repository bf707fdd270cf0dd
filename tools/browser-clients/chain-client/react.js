// The exports that the older client library imports. A chat needs none of them when it is given the agent's address.
export const Authz = { getOracleAuthZConfig: async () => ({}) };
export class CryptoUtils {}
export class Payments {}
export const gqlClient = { GetEntityById: async () => ({ entity: {} }) };
export const getMatrixUrlsForDid = async () => ({});
export const getOracleAgentCard = async () => ({});
export const normalizeMatrixHomeServerUrl = (url) => url;
