'use client';

import {
  ExternalE2EEKeyProvider,
  isE2EESupported,
  type RemoteTrack,
  Room,
  RoomEvent,
  type TextStreamReader,
  Track,
  type TranscriptionSegment,
} from 'livekit-client';
import { useEffect, useMemo, useSyncExternalStore } from 'react';
import type { AgentApi } from '../core/agent-api.ts';
import type { ConfigOverrides } from '../core/oracle-config.ts';
import { createStore } from '../core/store.ts';
import { useAgent } from '../react/use-agent.ts';
import { useLatest } from '../react/use-load.ts';
import {
  addSegments,
  initialLiveState,
  LiveError,
  type LiveState,
  toDeviceError,
  toEndError,
  toJoinError,
  toParticipants,
} from './live-state.ts';

interface LiveCallOptions extends Pick<LiveAgentOptions, 'sessionId' | 'createWorker'> {
  api: Pick<AgentApi, 'startCall' | 'endCall'>;
}

interface Line {
  room: Room;
  worker: Worker;
  callId: string;
}

/** One end-to-end encrypted call with the agent at a time; failures are in the state. */
function createLiveCall({ api, sessionId, createWorker }: LiveCallOptions) {
  const store = createStore<LiveState>(initialLiveState);
  const change = (next: Partial<LiveState>) => store.set({ ...store.get(), ...next });
  let line: Line | undefined;
  /** Counts joins and leaves, so that a join that was left meanwhile hangs up. */
  let turn = 0;

  async function join(): Promise<void> {
    if (store.get().status !== 'idle') return;
    turn += 1;
    const own = turn;
    store.set({ ...initialLiveState, status: 'connecting' });
    let opened: Line | undefined;
    try {
      if (!isE2EESupported()) {
        throw new LiveError('ENCRYPTION_UNSUPPORTED', 'This browser cannot encrypt calls from end to end.');
      }
      const { callId, url, token, encryptionKey } = await api.startCall(sessionId);
      opened = { callId, ...(await createRoom(encryptionKey)) };
      listen(opened.room);
      await opened.room.connect(url, token);
      if (own !== turn) return await hangUp(opened);
      line = opened;
      change({ status: 'connected', participants: toParticipants(opened.room) });
    } catch (error) {
      if (opened) await hangUp(opened);
      if (own === turn) store.set({ ...initialLiveState, error: toJoinError(error) });
      return;
    }
    await setMicrophone(true);
  }

  async function createRoom(encryptionKey: string): Promise<Pick<Line, 'room' | 'worker'>> {
    const keyProvider = new ExternalE2EEKeyProvider();
    const worker = createWorker();
    const room = new Room({ adaptiveStream: true, dynacast: true, encryption: { keyProvider, worker } });
    await keyProvider.setKey(encryptionKey);
    await room.setE2EEEnabled(true);
    return { room, worker };
  }

  function listen(room: Room): void {
    const refresh = () => {
      if (line?.room === room) change({ participants: toParticipants(room) });
    };
    for (const event of refreshingEvents) room.on(event, refresh);
    room.on(RoomEvent.Reconnecting, () => change({ status: 'reconnecting' }));
    room.on(RoomEvent.Reconnected, () => change({ status: 'connected' }));
    room.on(RoomEvent.Disconnected, (reason) => {
      if (line?.room === room) void end(toEndError(reason));
    });
    // Audio plays from an element that need not be on the page.
    room.on(RoomEvent.TrackSubscribed, (track: RemoteTrack) => {
      if (track.kind === Track.Kind.Audio) track.attach();
    });
    room.on(RoomEvent.TrackUnsubscribed, (track: RemoteTrack) => void track.detach());
    const write = (segments: Parameters<typeof addSegments>[1], identity = '') => {
      if (line?.room === room) change({ transcript: addSegments(store.get().transcript, segments, identity) });
    };
    // Newer voice workers write streams of text, older ones send transcriptions, some both: a segment has one id.
    room.on(RoomEvent.TranscriptionReceived, (segments, participant) => write(segments, participant?.identity));
    room.registerTextStreamHandler(transcriptionTopic, async (reader, { identity }) => {
      for await (const segment of readTranscription(reader)) write([segment], identity);
    });
    room.on(RoomEvent.EncryptionError, (cause) =>
      change({ error: new LiveError('CONNECTION_FAILED', 'Part of the call could not be decrypted.', { cause }) }),
    );
  }

  async function end(error?: Error): Promise<void> {
    turn += 1;
    const left = line;
    line = undefined;
    change({ status: 'idle', participants: [], error });
    if (left) await hangUp(left);
  }

  async function hangUp({ room, worker, callId }: Line): Promise<void> {
    room.removeAllListeners();
    await room.disconnect();
    worker.terminate();
    await api.endCall(callId).catch(() => {});
  }

  /** A failing device does not end the call: the user can still listen. After the call its error is ignored. */
  async function setDevice(device: 'microphone' | 'camera' | 'screen', work: (line: Line) => Promise<unknown>) {
    const own = line;
    if (!own) return;
    let error: Error | undefined;
    try {
      await work(own);
    } catch (cause) {
      error = toDeviceError(device, cause);
    }
    if (line === own) change({ error, participants: toParticipants(own.room) });
  }

  const setMicrophone = (isOn: boolean) =>
    setDevice('microphone', ({ room }) => room.localParticipant.setMicrophoneEnabled(isOn));

  return {
    get: store.get,
    subscribe: store.subscribe,
    join,
    leave: () => end(),
    setMicrophone,
    setCamera: (isOn: boolean) => setDevice('camera', ({ room }) => room.localParticipant.setCameraEnabled(isOn)),
    setScreenShare: (isOn: boolean) =>
      setDevice('screen', ({ room }) => room.localParticipant.setScreenShareEnabled(isOn)),
  };
}

const refreshingEvents = [
  RoomEvent.ParticipantConnected,
  RoomEvent.ParticipantDisconnected,
  RoomEvent.ActiveSpeakersChanged,
  RoomEvent.TrackMuted,
  RoomEvent.TrackUnmuted,
  RoomEvent.TrackSubscribed,
  RoomEvent.TrackUnsubscribed,
  RoomEvent.LocalTrackPublished,
  RoomEvent.LocalTrackUnpublished,
  RoomEvent.ParticipantEncryptionStatusChanged,
] as const;

const transcriptionTopic = 'lk.transcription';

type Segment = Pick<TranscriptionSegment, 'id' | 'text' | 'final'>;

/** One piece of what is said, as it grows. A piece that is not final is sent again in a stream of the same segment. */
async function* readTranscription(reader: TextStreamReader): AsyncGenerator<Segment> {
  const id = reader.info.attributes?.['lk.segment_id'] ?? reader.info.id;
  let text = '';
  for await (const chunk of reader) {
    text += chunk;
    yield { id, text, final: false };
  }
  // Read last: the end of a stream may bring attributes of its own.
  yield { id, text, final: reader.info.attributes?.['lk.transcription_final'] !== 'false' };
}

export interface LiveAgentOptions {
  oracleDid?: string | undefined;
  sessionId: string;
  overrides?: ConfigOverrides | undefined;
  /** `() => new Worker(new URL('livekit-client/e2ee-worker', import.meta.url), { type: 'module' })`: only a bundler knows it. */
  createWorker: () => Worker;
}

export interface LiveAgentResult extends LiveState, Omit<ReturnType<typeof createLiveCall>, 'get' | 'subscribe'> {
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

  const { get, subscribe, ...controls } = call;
  const state = useSyncExternalStore(subscribe, get, get);
  const me = state.participants.find(({ isLocal }) => isLocal);
  return {
    ...state,
    error: state.error ?? error,
    isMicrophoneOn: me?.isMicrophoneOn ?? false,
    isCameraOn: me?.isCameraOn ?? false,
    isScreenShared: me?.isScreenShared ?? false,
    ...controls,
  };
}
