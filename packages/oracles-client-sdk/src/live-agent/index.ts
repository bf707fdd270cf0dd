export { LiveError, type LiveErrorCode } from './live-error.ts';
export type { LiveParticipant, LiveState, LiveStatus, TranscriptEntry } from './live-state.ts';
export { type LiveAgentOptions, type LiveAgentResult, useLiveAgent } from './use-live-agent.ts';
