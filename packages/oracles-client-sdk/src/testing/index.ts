export { createFakeAgent, type FakeAgent, type FakeAgentOptions } from './create-fake-agent.ts';
export type { FakeAnswer, FakeMessage, FakeStep } from './fake-script.ts';
