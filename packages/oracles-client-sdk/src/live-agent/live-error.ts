import { DisconnectReason, MediaDeviceFailure } from 'livekit-client';
import { OracleError, toError } from '../core/oracle-error.ts';

export type LiveErrorCode =
  | 'CALLS_NOT_CONFIGURED'
  | 'ENCRYPTION_UNSUPPORTED'
  | 'PERMISSION_DENIED'
  | 'DEVICE_MISSING'
  | 'DEVICE_IN_USE'
  | 'CONNECTION_FAILED';

/** Why a call, or a device in it, does not work. */
export class LiveError extends Error {
  override readonly name = 'LiveError';
  readonly code: LiveErrorCode;

  constructor(code: LiveErrorCode, message: string, options?: { cause: unknown }) {
    super(message, options);
    this.code = code;
  }
}

type Device = 'microphone' | 'camera' | 'screen';

/** A failure to open a device, in words for the user. */
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

/** Why a call is over that was not hung up here; nothing where the other side ended it. */
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
