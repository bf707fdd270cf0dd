export { createFakeAgent, type FakeAgent } from './create-fake-agent.ts';
export type { FakeAgentOptions, FakeAnswer, FakeMessage, FakeStep } from './fake-run.ts';
