import type { UssdDebugRecord } from '@palaver/contract/internal';
import { loadAsOperator, ServiceFault } from '../api/call-service.ts';
import { useOperatorQuery } from '../api/operator-token.ts';
import type { PhoneLine } from './use-phone.ts';

/** What the gateway keeps of a phone's session, asked again after every screen; null once it has ended. */
export function useSessionRecord({ sessionId, steps, line }: PhoneLine) {
  return useOperatorQuery({
    queryKey: ['ussd-debug', sessionId, steps.length],
    enabled: sessionId !== '' && line.status !== 'idle' && steps.length > 0,
    placeholderData: (before) => before,
    queryFn: () => loadRecord(sessionId),
  });
}

export type SessionRecord = ReturnType<typeof useSessionRecord>;

async function loadRecord(sessionId: string): Promise<UssdDebugRecord | null> {
  try {
    return await loadAsOperator('ussd-gateway', `/api/ussd/debug/${encodeURIComponent(sessionId)}`);
  } catch (error) {
    if (error instanceof ServiceFault && error.status === 404) return null;
    throw error;
  }
}
