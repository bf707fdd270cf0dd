// Somebody else in a call, with LiveKit's own client and none of ours: what a voice worker is for an agent.
import { ExternalE2EEKeyProvider, type RemoteVideoTrack, Room, RoomEvent, Track } from 'livekit-client';
import type { Guest } from './guest-interface.ts';

const video = document.querySelector('video') as HTMLVideoElement;
const keyProvider = new ExternalE2EEKeyProvider();
const worker = new Worker(new URL('livekit-client/e2ee-worker', import.meta.url), { type: 'module' });
const room = new Room({ encryption: { keyProvider, worker } });
const faults: string[] = [];
room.on(RoomEvent.EncryptionError, ({ message }) => faults.push(message));
let pictures: RemoteVideoTrack | undefined;
room.on(RoomEvent.TrackSubscribed, (track) => {
  if (track.kind !== Track.Kind.Video) return;
  pictures = track as RemoteVideoTrack;
  pictures.attach(video);
});

const guest: Guest = {
  async join({ url, token, key }) {
    await keyProvider.setKey(key);
    await room.setE2EEEnabled(true);
    await room.connect(url, token);
    await room.localParticipant.enableCameraAndMicrophone();
  },
  async transcribe({ id, parts, isFinal }) {
    const writer = await room.localParticipant.streamText({
      topic: 'lk.transcription',
      attributes: { 'lk.segment_id': id, 'lk.transcription_final': String(isFinal) },
    });
    for (const part of parts) await writer.write(part);
    await writer.close();
  },
  look: async () => ({
    faults,
    bytes: (await pictures?.getReceiverStats())?.bytesReceived ?? 0,
    frames: video.getVideoPlaybackQuality().totalVideoFrames,
    others: [...room.remoteParticipants.values()].map((other) => ({
      identity: other.identity,
      microphone: other.isMicrophoneEnabled,
      camera: other.isCameraEnabled,
      screen: other.isScreenShareEnabled,
    })),
  }),
  leave: () => room.disconnect(),
};

Object.assign(globalThis, { guest });
