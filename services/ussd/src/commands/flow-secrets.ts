import { type FlowStep, pinName } from './flow.ts';

const pinShape = /^\d{4,6}$/;

/** Whether each step answers a secret question; `undefined` if the server did not say. */
export type SecretSteps = readonly (boolean | undefined)[];

/**
 * Replaces secret answers by placeholders: `{{pin}}`, `{{pin2}}`, `{{secret}}`. The same answer has the same placeholder.
 * Where the server does not say what is secret, every answer of 4 to 6 digits is taken for a PIN.
 */
export function maskSecrets(steps: readonly FlowStep[], secret: SecretSteps = []): FlowStep[] {
  const names = new Map<string, string>();
  for (const [i, step] of steps.entries()) {
    if (!('send' in step) || names.has(step.send) || !(secret[i] ?? pinShape.test(step.send))) continue;
    const kind = pinShape.test(step.send) ? pinName : 'secret';
    const count = [...names.values()].filter((name) => name.startsWith(kind)).length;
    names.set(step.send, count === 0 ? kind : `${kind}${count + 1}`);
  }
  return steps.map((step, i) => {
    const name = 'send' in step && secret[i] !== false ? names.get(step.send) : undefined;
    return name === undefined ? step : { ...step, send: `{{${name}}}` };
  });
}

/** A random number, which most likely has not called before. */
export function makePhoneNumber(): string {
  const [number = 0] = crypto.getRandomValues(new Uint32Array(1));
  return `+2547${String(number % 100_000_000).padStart(8, '0')}`;
}
