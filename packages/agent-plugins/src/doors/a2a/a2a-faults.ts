import { AppError } from '@palaver/contract';
import { z } from 'zod';

/** The errors of JSON-RPC and of A2A by the reasons that A2A names them by. */
const codes = {
  PARSE_ERROR: -32700,
  INVALID_REQUEST: -32600,
  METHOD_NOT_FOUND: -32601,
  INVALID_PARAMS: -32602,
  INTERNAL_ERROR: -32603,
  TASK_NOT_FOUND: -32001,
  TASK_NOT_CANCELABLE: -32002,
  PUSH_NOTIFICATION_NOT_SUPPORTED: -32003,
  UNSUPPORTED_OPERATION: -32004,
  CONTENT_TYPE_NOT_SUPPORTED: -32005,
  VERSION_NOT_SUPPORTED: -32009,
} as const;

type Reason = keyof typeof codes;

/** A fault of the call itself: a JSON-RPC reply with status 200. */
export class A2aFault extends Error {
  readonly reason: Reason;

  constructor(reason: Reason, message: string) {
    super(message);
    this.reason = reason;
  }
}

const reasons: Partial<Record<string, Reason>> = {
  RUN_NOT_FOUND: 'TASK_NOT_FOUND',
  APPROVAL_NOT_FOUND: 'UNSUPPORTED_OPERATION',
  APPROVAL_ANSWERED: 'UNSUPPORTED_OPERATION',
  VALIDATION_FAILED: 'INVALID_PARAMS',
};

/** The fault that an error of a call stands for; undefined for refusals, which have a status of HTTP too. */
export function toFault(error: unknown): A2aFault | undefined {
  if (error instanceof A2aFault) return error;
  if (!(error instanceof AppError)) return undefined;
  const reason = reasons[error.code];
  return reason && new A2aFault(reason, error.message);
}

export function toFaultBody({ reason, message }: A2aFault, id: unknown) {
  return toBody({ code: codes[reason], reason, message }, id);
}

const codesOfRefusals: Partial<Record<string, number>> = {
  BAD_REQUEST: codes.INVALID_REQUEST,
  VALIDATION_FAILED: codes.INVALID_REQUEST,
  UNSUPPORTED_MEDIA_TYPE: codes.CONTENT_TYPE_NOT_SUPPORTED,
  INTERNAL_ERROR: codes.INTERNAL_ERROR,
};

export const refusalSchema = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number(), z.null()]),
  error: z.object({ code: z.int(), message: z.string(), data: z.array(z.looseObject({ '@type': z.string() })) }),
});

/** An error with a status of HTTP: of what is not a call, and of a caller who is refused. */
export function toRefusalBody({ code, message, cause }: AppError) {
  const isText = cause instanceof Error && 'code' in cause && cause.code === 'FST_ERR_CTP_INVALID_JSON_BODY';
  if (isText) return toFaultBody(new A2aFault('PARSE_ERROR', message), null);
  return toBody({ code: codesOfRefusals[code] ?? -32000, reason: code, message }, null);
}

function toBody({ code, reason, message }: { code: number; reason: string; message: string }, id: unknown) {
  const data = [{ '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason, domain: 'a2a-protocol.org' }];
  return { jsonrpc: '2.0', id, error: { code, message, data } };
}
