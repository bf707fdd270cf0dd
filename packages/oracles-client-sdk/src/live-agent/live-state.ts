import {
  DisconnectReason,
  MediaDeviceFailure,
  type Participant,
  type Room,
  Track,
  type TranscriptionSegment,
} from 'livekit-client';
import { OracleError, toError } from '../core/oracle-error.ts';

export type LiveStatus = 'idle' | 'connecting' | 'connected' | 'reconnecting';

export interface LiveParticipant {
  identity: string;
  name: string;
  isLocal: boolean;
  isSpeaking: boolean;
  isMicrophoneOn: boolean;
  isCameraOn: boolean;
  isScreenShared: boolean;
  isEncrypted: boolean;
  /** Shows a picture in an element; returns the way to stop. Another function when there are other pictures, for effects. */
  attachVideo(element: HTMLVideoElement, source?: 'camera' | 'screen'): () => void;
}

/** A piece of what was said, replaced until it is final. */
export interface TranscriptEntry {
  id: string;
  identity: string;
  text: string;
  isFinal: boolean;
}

export interface LiveState {
  readonly status: LiveStatus;
  readonly participants: readonly LiveParticipant[];
  readonly transcript: readonly TranscriptEntry[];
  readonly error: Error | undefined;
}

export const initialLiveState: LiveState = { status: 'idle', participants: [], transcript: [], error: undefined };

const maxTranscriptEntries = 500;

export function toParticipants({ localParticipant, remoteParticipants }: Room): LiveParticipant[] {
  return [localParticipant, ...remoteParticipants.values()].map(toParticipant);
}

function toParticipant(participant: Participant): LiveParticipant {
  return {
    identity: participant.identity,
    name: participant.name || participant.identity,
    isLocal: participant.isLocal,
    isSpeaking: participant.isSpeaking,
    isMicrophoneOn: participant.isMicrophoneEnabled,
    isCameraOn: participant.isCameraEnabled,
    isScreenShared: participant.isScreenShareEnabled,
    isEncrypted: participant.isEncrypted,
    attachVideo: toAttachVideo(participant),
  };
}

interface Attacher extends Record<'camera' | 'screen', Track | undefined> {
  attachVideo: LiveParticipant['attachVideo'];
}

const attachers = new WeakMap<Participant, Attacher>();

/** The same function for as long as the pictures are the same ones: they are not attached again when the speaker changes. */
function toAttachVideo(participant: Participant): LiveParticipant['attachVideo'] {
  const camera = participant.getTrackPublication(Track.Source.Camera)?.track;
  const screen = participant.getTrackPublication(Track.Source.ScreenShare)?.track;
  const known = attachers.get(participant);
  if (known && known.camera === camera && known.screen === screen) return known.attachVideo;
  const attachVideo: LiveParticipant['attachVideo'] = (element, source = 'camera') => {
    const track = source === 'camera' ? camera : screen;
    track?.attach(element);
    return () => void track?.detach(element);
  };
  attachers.set(participant, { camera, screen, attachVideo });
  return attachVideo;
}

export function addSegments(
  transcript: readonly TranscriptEntry[],
  segments: readonly Pick<TranscriptionSegment, 'id' | 'text' | 'final'>[],
  identity: string,
): TranscriptEntry[] {
  const entries = [...transcript];
  for (const { id, text, final } of segments) {
    const entry: TranscriptEntry = { id, identity, text, isFinal: final };
    const known = entries.findIndex((other) => other.id === id);
    if (known < 0) entries.push(entry);
    else entries[known] = entry;
  }
  return entries.slice(-maxTranscriptEntries);
}

export type LiveErrorCode =
  | 'CALLS_NOT_CONFIGURED'
  | 'ENCRYPTION_UNSUPPORTED'
  | 'PERMISSION_DENIED'
  | 'DEVICE_MISSING'
  | 'DEVICE_IN_USE'
  | 'CONNECTION_FAILED';

export class LiveError extends Error {
  override readonly name = 'LiveError';
  readonly code: LiveErrorCode;

  constructor(code: LiveErrorCode, message: string, options?: { cause: unknown }) {
    super(message, options);
    this.code = code;
  }
}

type Device = 'microphone' | 'camera' | 'screen';

export function toDeviceError(device: Device, cause: unknown): LiveError {
  switch (MediaDeviceFailure.getFailure(cause)) {
    case MediaDeviceFailure.PermissionDenied:
      return new LiveError('PERMISSION_DENIED', `Access to the ${device} was denied.`, { cause });
    case MediaDeviceFailure.NotFound:
      return new LiveError('DEVICE_MISSING', `No ${device} was found.`, { cause });
    case MediaDeviceFailure.DeviceInUse:
      return new LiveError('DEVICE_IN_USE', `The ${device} is used by another program.`, { cause });
    default:
      return new LiveError('CONNECTION_FAILED', `The ${device} did not start: ${toError(cause).message}`, { cause });
  }
}

const ordinaryEnds = new Set<DisconnectReason | undefined>([
  DisconnectReason.CLIENT_INITIATED,
  DisconnectReason.ROOM_DELETED,
  DisconnectReason.ROOM_CLOSED,
  DisconnectReason.PARTICIPANT_REMOVED,
]);

export function toEndError(reason: DisconnectReason | undefined): LiveError | undefined {
  return ordinaryEnds.has(reason) ? undefined : new LiveError('CONNECTION_FAILED', 'The connection was lost.');
}

/** A failure to begin a call. Agents without calls have no such route, or say that it is not configured. */
export function toJoinError(cause: unknown): Error {
  if (cause instanceof LiveError) return cause;
  if (cause instanceof OracleError && cause.status > 0) {
    const isMissing = cause.status === 404 && cause.code !== 'SESSION_NOT_FOUND';
    if (!isMissing && cause.status !== 501 && cause.status !== 503) return cause;
    return new LiveError('CALLS_NOT_CONFIGURED', 'This agent does not take calls.', { cause });
  }
  return new LiveError('CONNECTION_FAILED', `The call could not be connected: ${toError(cause).message}`, { cause });
}
