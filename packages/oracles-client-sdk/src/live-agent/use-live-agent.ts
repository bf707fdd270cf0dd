'use client';

import { useEffect, useMemo, useSyncExternalStore } from 'react';
import type { ConfigOverrides } from '../core/oracle-config.ts';
import { useAgent } from '../react/use-agent.ts';
import { useLatest } from '../react/use-latest.ts';
import { createLiveCall, type LiveCall } from './live-call.ts';
import type { LiveState } from './live-state.ts';

export interface LiveAgentOptions {
  oracleDid?: string | undefined;
  sessionId: string;
  overrides?: ConfigOverrides | undefined;
  /** `() => new Worker(new URL('livekit-client/e2ee-worker', import.meta.url), { type: 'module' })` */
  createWorker: () => Worker;
}

export interface LiveAgentResult
  extends LiveState,
    Pick<LiveCall, 'join' | 'leave' | 'setMicrophone' | 'setCamera' | 'setScreenShare'> {
  isMicrophoneOn: boolean;
  isCameraOn: boolean;
  isScreenShared: boolean;
}

/** An end-to-end encrypted voice and video call with the agent. */
export function useLiveAgent(options: LiveAgentOptions): LiveAgentResult {
  const { error, whenReady } = useAgent(options.oracleDid, options.overrides);
  const latest = useLatest(options);
  const { sessionId } = options;
  const call = useMemo(() => {
    return createLiveCall({
      api: {
        startCall: async (id) => (await whenReady()).api.startCall(id),
        endCall: async (id) => (await whenReady()).api.endCall(id),
      },
      sessionId,
      createWorker: () => latest.current.createWorker(),
    });
  }, [sessionId, latest, whenReady]);
  // Leaving the page's call when its component goes; nothing is open when strict mode tries it out.
  useEffect(() => () => void call.leave(), [call]);

  const state = useSyncExternalStore(call.subscribe, call.get, call.get);
  const me = state.participants.find(({ isLocal }) => isLocal);
  return {
    ...state,
    error: state.error ?? error,
    isMicrophoneOn: me?.isMicrophoneOn ?? false,
    isCameraOn: me?.isCameraOn ?? false,
    isScreenShared: me?.isScreenShared ?? false,
    join: call.join,
    leave: call.leave,
    setMicrophone: call.setMicrophone,
    setCamera: call.setCamera,
    setScreenShare: call.setScreenShare,
  };
}
