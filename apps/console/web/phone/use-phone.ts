import { createPhone, formatReply, type Phone, type Reply } from '@palaver/ussd/commands/phone';
import { useRef, useState } from 'react';
import { callService } from '../api/call-service.ts';

export interface CallerOptions {
  phoneNumber: string;
  /** Sent as X-Gateway-Secret, where the gateway asks for it. */
  secret: string;
}

export interface Step {
  kind: 'dial' | 'send';
  sent: string;
  reply: string;
}

export type Line = { status: 'idle' } | { status: 'waiting' | 'open' | 'ended' | 'failed'; screen: string };

export type ReplayOutcome =
  | { name: string; ok: true }
  | { name: string; ok: false; step: number; expected: string; received: string };

const fetch = (path: string, init: RequestInit) => callService('ussd-gateway', path, init);

export function usePhone(options: CallerOptions) {
  const phone = useRef<Phone | undefined>(undefined);
  /** The number that a recorded dialogue calls from while it is replayed. */
  const replayed = useRef<Partial<CallerOptions>>({});
  const [line, setLine] = useState<Line>({ status: 'idle' });
  const [steps, setSteps] = useState<Step[]>([]);
  const [outcome, setOutcome] = useState<ReplayOutcome>();

  async function take(kind: Step['kind'], sent: string, act: (on: Phone) => Promise<Reply>): Promise<Reply> {
    if (kind === 'dial' || !phone.current)
      phone.current = createPhone({ ...options, ...replayed.current, url: '', fetch });
    const on = phone.current;
    setLine((before) => ({ status: 'waiting', screen: 'screen' in before ? before.screen : '' }));
    const reply = await act(on);
    setSteps((before) => [...(kind === 'dial' ? [] : before), { kind, sent, reply: formatReply(reply) }]);
    if (phone.current === on) setLine({ status: reply.ended ? 'ended' : 'open', screen: reply.text });
    return reply;
  }
  const player = {
    dial: (code: string) => take('dial', code, (on) => on.dial(code)),
    send: (input: string) => take('send', input, (on) => on.send(input)),
  };

  function run(act: () => Promise<unknown>): void {
    setOutcome(undefined);
    act().catch((error: unknown) => {
      setLine({ status: 'failed', screen: error instanceof Error ? error.message : String(error) });
    });
  }

  return {
    line,
    steps,
    outcome,
    sessionId: phone.current?.sessionId() ?? '',
    dial: (code: string) => run(() => player.dial(code)),
    send: (input: string) => run(() => player.send(input)),
    hangUp() {
      phone.current = undefined;
      setLine({ status: 'idle' });
    },
    replay: (source: string) =>
      run(async () => {
        const { makePhoneNumber, parseFlow, replayFlow } = await import('@palaver/ussd/commands/flow');
        const flow = parseFlow(source);
        replayed.current = { phoneNumber: flow.phoneNumber ?? makePhoneNumber() };
        const result = await replayFlow(flow, player).finally(() => {
          replayed.current = {};
        });
        setOutcome({ name: flow.name, ...result });
      }),
  };
}

export type PhoneLine = ReturnType<typeof usePhone>;
