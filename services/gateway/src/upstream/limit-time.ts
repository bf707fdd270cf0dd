import { failure } from './call.ts';
import type { Interceptor } from './send.ts';

/** Gives a call up when its time is over. */
export const limitTime: Interceptor = (send) => (request, done) => {
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    cancel();
  }, request.timeoutMs);
  const cancel = send(request, (answer) => {
    clearTimeout(timer);
    done(isLate && !answer.ok && answer.fault === 'cancelled' ? failure('deadline') : answer);
  });
  return cancel;
};
