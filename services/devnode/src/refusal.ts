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

/** An error that a module of the chain registers. */
export interface ModuleError {
  codespace: string;
  code: number;
  text: string;
}

/** In the words of a real node. It gives such errors no gRPC code, so they are UNKNOWN. */
export function refuseByModule({ codespace, code, text }: ModuleError, detail: string): Refusal {
  return refuse('UNKNOWN', `codespace ${codespace} code ${code}: ${text}: ${detail}`);
}
