import { afterAll, beforeAll, describe } from 'vitest';
import { chatScenarios } from './chat-scenarios.ts';
import { explorerScenarios } from './explorer-scenarios.ts';
import { languageScenarios } from './language-scenarios.ts';
import { operationsScenarios } from './operations-scenarios.ts';
import { phoneScenarios } from './phone-scenarios.ts';
import { programsScenarios } from './programs-scenarios.ts';
import { shellScenarios } from './shell-scenarios.ts';
import { startTestConsole, type TestConsole } from './start-console.ts';

let palaver: TestConsole;

beforeAll(async () => {
  palaver = await startTestConsole();
});

afterAll(() => palaver[Symbol.asyncDispose]());

// One running product for all views: what is dialled in one is counted in another.
describe('shell', () => shellScenarios(() => palaver));
describe('phone', () => phoneScenarios(() => palaver));
describe('programs', () => programsScenarios(() => palaver));
describe('chat', () => chatScenarios(() => palaver));
describe('explorer', () => explorerScenarios(() => palaver));
describe('operations', () => operationsScenarios(() => palaver));
describe('languages', () => languageScenarios(() => palaver));
