import { useMutation } from '@tanstack/react-query';
import { callAsOperator, isRefused } from '../api/call-service.ts';
import { OperatorSignIn } from '../ui/operator-sign-in.tsx';

/** What stands in the way once the credit is used up. The message that was refused is sent again when the claims are settled. */
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
    <section className="notice notice-warn payment-wall" aria-label="Payment required">
      <h2>Your credit is used up</h2>
      <p>The agent answers again once {claimIds.length === 1 ? 'this claim is' : 'these claims are'} paid:</p>
      <ul>
        {claimIds.map((id) => (
          <li key={id}>
            <code>{id}</code>
          </li>
        ))}
      </ul>
      <div className="actions">
        <button type="button" className="button" onClick={onSettled}>
          I have paid, try again
        </button>
        <button type="button" className="button" disabled={settle.isPending} onClick={() => settle.mutate()}>
          Settle as operator
        </button>
      </div>
      {isRefused(settle.error) ? (
        <OperatorSignIn message="Settling is for operators." />
      ) : (
        settle.error && <p>{settle.error.message}</p>
      )}
    </section>
  );
}
