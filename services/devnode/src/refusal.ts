import type { GrpcStatusName } from '@palaver/contract/internal';

/** An expected no, as a value: the gRPC status and the text that goes with it. */
export interface Refusal {
  ok: false;
  code: GrpcStatusName;
  message: string;
}

export function refuse(code: GrpcStatusName, message: string): Refusal {
  return { ok: false, code, message };
}

export function refuseArgument(message: string): Refusal {
  return refuse('INVALID_ARGUMENT', message);
}

export function refuseMissing(message: string): Refusal {
  return refuse('NOT_FOUND', message);
}

/** A record that a module's own error reports as missing: real nodes give such errors no gRPC code, so it is UNKNOWN. */
export function refuseUnknown(message: string): Refusal {
  return refuse('UNKNOWN', message);
}
