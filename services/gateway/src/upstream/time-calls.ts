import type { GatewayMetrics } from '../metrics.ts';
import type { Interceptor } from './send.ts';

/** Observes how long each call takes, retries included. */
export function timeCalls({ observeUpstream }: Pick<GatewayMetrics, 'observeUpstream'>): Interceptor {
  return (send) => (request, done) => {
    const started = performance.now();
    return send(request, (answer) => {
      observeUpstream(request.path, answer.ok ? 0 : answer.code, (performance.now() - started) / 1000);
      done(answer);
    });
  };
}
