import { useMutation } from '@tanstack/react-query';
import { callAsOperator, type ServiceName } from '../api/call-service.ts';
import { t } from '../i18n/text.ts';
import { Fault } from '../ui/fault.tsx';
import { JsonView } from '../ui/json-view.tsx';

/** What the service logged about a request, asked for when it is wanted. */
export function LogLines({ service, requestId }: { service: ServiceName; requestId: string }) {
  const ask = useMutation({
    mutationFn: async () => {
      const reply = await callAsOperator(service, `/metrics/errors/${encodeURIComponent(requestId)}`);
      return ((await reply.json()) as { lines: unknown[] }).lines;
    },
  });
  return (
    <>
      <button type="button" className="button button-small" disabled={ask.isPending} onClick={() => ask.mutate()}>
        {t('operations.logLines')}
      </button>
      {ask.error && <Fault error={ask.error} />}
      {ask.data?.length === 0 && <p className="empty">{t('operations.noLogLines')}</p>}
      {ask.data?.map((line) => (
        <JsonView key={JSON.stringify(line)} value={line} label={t('operations.logLines')} />
      ))}
    </>
  );
}
