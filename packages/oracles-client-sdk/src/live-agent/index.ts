export {
  LiveError,
  type LiveErrorCode,
  type LiveParticipant,
  type LiveState,
  type LiveStatus,
  type TranscriptEntry,
} from './live-state.ts';
export { type LiveAgentOptions, type LiveAgentResult, useLiveAgent } from './use-live-agent.ts';
