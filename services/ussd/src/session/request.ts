export interface SessionRequest {
  sessionId: string;
  serviceCode: string;
  phoneNumber: string;
  text: string;
}

export type RequestKind = 'opened' | 'continued' | 'rebuilt' | 'retried' | 'ended' | 'expired' | 'refused';

/** The reply as it is sent, or the reason why the request is not valid. */
export type RequestResult = { reply: string; kind: RequestKind } | { invalid: string };
