import { useMutation } from '@tanstack/react-query';
import { callAsOperator, isRefused } from '../api/call-service.ts';
import { t } from '../i18n/text.ts';
import { Fault, OperatorSignIn } from '../ui/content.tsx';
import { Button } from '../ui/controls.tsx';

export function PaymentWall({ claimIds, onSettled }: { claimIds: string[]; onSettled(): void }) {
  const settle = useMutation({
    mutationFn: async () => {
      for (const id of claimIds) {
        await callAsOperator('agent', `/credits/claims/${encodeURIComponent(id)}/settle`, { method: 'POST' });
      }
    },
    onSuccess: onSettled,
  });
  return (
    <section className="notice notice-warn payment-wall" aria-label={t('chat.payment')}>
      <h2>{t('chat.creditUsed')}</h2>
      <p>{t('chat.claims', { count: claimIds.length })}</p>
      <ul>
        {claimIds.map((id) => (
          <li key={id}>
            <code>{id}</code>
          </li>
        ))}
      </ul>
      <div className="actions">
        <Button onClick={onSettled}>{t('chat.paid')}</Button>
        <Button text={t('chat.settle')} disabled={settle.isPending} onClick={() => settle.mutate()} />
      </div>
      {isRefused(settle.error) ? (
        <OperatorSignIn message={t('chat.settleOperators')} />
      ) : (
        settle.error && <Fault error={settle.error} />
      )}
    </section>
  );
}
