// A module of its own, so that ucanto is loaded only by those who sign in with a delegation.
export { parseToken } from '@palaver/ucan';
