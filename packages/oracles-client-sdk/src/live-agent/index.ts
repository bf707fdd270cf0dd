export { type LiveAgentOptions, type LiveAgentResult, useLiveAgent } from './live-call.ts';
export {
  LiveError,
  type LiveErrorCode,
  type LiveParticipant,
  type LiveState,
  type LiveStatus,
  type TranscriptEntry,
} from './live-state.ts';
