/** What browsers may send to the agent service (`Access-Control-Allow-Headers`). */
export const corsRequestHeaders = [
  'Content-Type',
  'Authorization',
  'x-ucan-delegation',
  'x-matrix-access-token',
  'x-matrix-homeserver',
  'x-did',
  'x-request-id',
  'x-auth-type',
  'x-timezone',
] as const;

export const corsMethods = ['GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'] as const;

/** The height that a query is about, in requests and answers, and as gRPC metadata. */
export const heightHeader = 'x-cosmos-block-height';
/** The lowest height that an answer about the latest block may have: what a client has seen on another connection. */
export const minHeightHeader = 'x-min-block-height';

/** The headers of every event stream; the last one keeps nginx from collecting the frames. */
export const eventStreamHeaders = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache, no-transform',
  'X-Accel-Buffering': 'no',
} as const;
