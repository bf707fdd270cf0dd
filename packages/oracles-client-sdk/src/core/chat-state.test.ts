import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type ChatAction, type ChatState, initialChatState, reduceChat, toChatStatus } from './chat-state.ts';
import { OracleError } from './oracle-error.ts';
import type { MessagePage, StreamEvent, WireMessage } from './wire.ts';

const refused = new OracleError('refused', { code: 'PAYMENT_REQUIRED', status: 402 });
const at = '2026-01-01T00:00:00.000Z';
const sent = (requestId: string): ChatAction => ({
  type: 'sent',
  requestId,
  messageId: `id ${requestId}`,
  text: `ask ${requestId}`,
  createdAt: at,
});
const streamed = (localId: string, ...events: StreamEvent[]): ChatAction => ({ type: 'streamed', localId, events });
const run = (requestId: string): StreamEvent => ({
  eventName: 'run',
  payload: { runId: `run-${requestId}`, sessionId: 's', requestId },
});
const text = (content: string): StreamEvent => ({ eventName: 'message', payload: { content, timestamp: at } });
const done = (requestId: string, status: 'complete' | 'aborted' | 'failed' = 'complete'): StreamEvent => ({
  eventName: 'done',
  payload: { runId: `run-${requestId}`, messageId: `answer-${requestId}`, status },
});
const error: StreamEvent = {
  eventName: 'error',
  payload: { error: 'broke', code: 'MODEL_FAILED', kind: 'model', retryable: true, timestamp: at },
};
const play = (actions: ChatAction[], from: ChatState = initialChatState) => actions.reduce(reduceChat, from);

const stored = (requestId: string, type: 'human' | 'ai', content: string): WireMessage => ({
  id: `${type === 'ai' ? 'answer' : 'question'}-${requestId}`,
  type,
  content,
  createdAt: at,
  status: 'complete',
  requestId,
});
const page = (messages: WireMessage[], prevCursor: string | null = null): MessagePage => ({
  messages,
  prevCursor,
  nextCursor: null,
  hasOlder: prevCursor !== null,
  hasNewer: false,
});
const loaded = (messages: WireMessage[], prevCursor: string | null = null, older = false): ChatAction => ({
  type: 'loaded',
  page: page(messages, prevCursor),
  older,
});
const shown = ({ messages }: ChatState) => messages.map(({ content }) => content);

describe('status', () => {
  it.each<[string, ChatAction[], string]>([
    ['nothing yet', [], 'ready'],
    ['a send', [sent('1')], 'submitted'],
    ['the first frame', [sent('1'), streamed('1', run('1'))], 'streaming'],
    ['done', [sent('1'), streamed('1', run('1'), done('1'))], 'ready'],
    ['an abort', [sent('1'), streamed('1', run('1'), done('1', 'aborted'))], 'ready'],
    ['a failure in the stream', [sent('1'), streamed('1', run('1'), error, done('1', 'failed'))], 'error'],
    ['a refusal', [sent('1'), { type: 'failed', localId: '1', error: refused }], 'error'],
    ['the next send', [sent('1'), { type: 'failed', localId: '1', error: refused }, sent('2')], 'submitted'],
    ['a resumed run', [{ type: 'resumed', runId: 'r' }], 'submitted'],
    ['two sends, one done', [sent('1'), sent('2'), streamed('1', run('1'), done('1'))], 'submitted'],
    ['a page that left', [sent('1'), streamed('1', run('1')), { type: 'detached' }], 'ready'],
    ['frames of a run that is over', [streamed('1', run('1'), text('late'))], 'ready'],
  ])('after %s', (_name, actions, expected) => {
    expect(toChatStatus(play(actions))).toBe(expected);
  });
});

describe('history', () => {
  it('replaces what was written here by what is stored, with the same keys', () => {
    const before = play([sent('1'), streamed('1', run('1'), text('hi'), done('1'))]);
    const after = play([loaded([stored('1', 'human', 'ask 1'), stored('1', 'ai', 'hi')])], before);
    expect(after.messages.map(({ storedId }) => storedId)).toEqual(['question-1', 'answer-1']);
    expect(after.messages.map(({ key }) => key)).toEqual(before.messages.map(({ key }) => key));
  });

  it('keeps an answer that is still on its way, even if it is stored already', () => {
    const before = play([sent('1'), streamed('1', run('1'), text('h'))]);
    const midway = play([loaded([stored('1', 'human', 'ask 1'), stored('1', 'ai', 'hi')])], before);
    expect(shown(midway)).toEqual(['ask 1', 'h']);
    expect(shown(play([streamed('1', text('i'), done('1'))], midway))).toEqual(['ask 1', 'hi']);
  });

  it('puts a resumed answer right behind its question', () => {
    const history = [stored('1', 'human', 'ask 1'), stored('2', 'human', 'ask 2')];
    const state = play([loaded(history), { type: 'resumed', runId: 'r' }, streamed('r', run('1'), text('one'))]);
    expect(shown(state)).toEqual(['ask 1', 'one', 'ask 2']);
    expect(shown(play([loaded(history)], state))).toEqual(['ask 1', 'one', 'ask 2']);
  });

  it('never shows less of an answer than the reader has seen', () => {
    const broken = play([sent('1'), streamed('1', run('1'), text('one two three'), error, done('1', 'failed'))]);
    const checkpoint: WireMessage = { ...stored('1', 'ai', 'one two'), status: 'failed' };
    expect(shown(play([loaded([stored('1', 'human', 'ask 1'), checkpoint])], broken))).toEqual([
      'ask 1',
      'one two three',
    ]);
  });

  it('distinguishes messages with the same request id', () => {
    const history = [stored('1', 'human', 'a'), { ...stored('1', 'human', 'b'), id: 'question-b' }];
    const state = play([loaded(history), loaded(history)]);
    expect(state.messages.map(({ id, content }) => [id, content])).toEqual([
      ['question-1', 'a'],
      ['question-b', 'b'],
    ]);
  });

  it('joins pages, and drops what is older where a gap would be', () => {
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((id) => stored(id, 'human', id)) as [
      WireMessage,
      WireMessage,
      WireMessage,
      WireMessage,
    ];
    const state = play([loaded([b], 'before-b'), loaded([a], null, true), loaded([b, c], 'before-b')]);
    expect(shown(state)).toEqual(['a', 'b', 'c']);
    expect(state.olderCursor).toBeNull();
    const jumped = play([loaded([d], 'before-d')], state);
    expect(shown(jumped)).toEqual(['d']);
    expect(jumped.olderCursor).toBe('before-d');
  });

  it('keeps a message that was refused until it is sent again', () => {
    const state = play([sent('1'), { type: 'failed', localId: '1', error: refused }, loaded([])]);
    expect(state.messages).toMatchObject([{ content: 'ask 1', status: 'failed' }]);
  });

  it('shows every message once and in order, whenever pages arrive during streams', () => {
    const words = ['one ', 'two ', 'three '];
    const script = (id: string): ChatAction[] => [
      sent(id),
      streamed(id, run(id)),
      ...words.map((word) => streamed(id, text(word))),
      streamed(id, done(id)),
    ];
    const actions = ['1', '2', '3'].flatMap(script);
    fc.assert(
      fc.property(fc.array(fc.nat(actions.length), { maxLength: 20 }), (moments) => {
        let state = initialChatState;
        for (const [index, action] of actions.entries()) {
          state = reduceChat(state, action);
          // What the service has at this moment: questions that have begun, answers that are done.
          const history = ['1', '2', '3'].flatMap((id, turn) => {
            const begun = index >= turn * script(id).length + 1;
            const ended = index >= (turn + 1) * script(id).length - 1;
            return [
              ...(begun ? [stored(id, 'human', `ask ${id}`)] : []),
              ...(ended ? [stored(id, 'ai', words.join(''))] : []),
            ];
          });
          for (const moment of moments) if (moment === index) state = reduceChat(state, loaded(history));
        }
        expect(shown(state)).toEqual(['1', '2', '3'].flatMap((id) => [`ask ${id}`, words.join('')]));
        expect(new Set(state.messages.map(({ key }) => key)).size).toBe(6);
      }),
    );
  });
});

it('collects the events of an answer as the service stores them', () => {
  const where = { sessionId: 's', requestId: '1' };
  const call = { ...where, toolCallId: 'c', toolName: 'paint', args: { colour: 'red' } };
  const component = { ...where, eventId: 'e', componentName: 'Chart', args: {}, status: 'done' as const };
  const state = play([
    sent('1'),
    streamed(
      '1',
      run('1'),
      { eventName: 'reasoning', payload: { ...where, reasoning: 'hm', isComplete: true } },
      { eventName: 'tool_call', payload: { ...where, eventId: 't', toolName: 'look', args: {}, status: 'isRunning' } },
      { eventName: 'action_call', payload: { ...call, status: 'isRunning' } },
      {
        eventName: 'tool_call',
        payload: { ...where, eventId: 't', toolName: 'look', args: {}, status: 'done', output: 1 },
      },
      { eventName: 'action_call', payload: { ...call, status: 'error', error: 'no' } },
      { eventName: 'render_component', payload: component },
      { eventName: 'render_component', payload: { ...component, args: { x: 1 } } },
      text('ok'),
    ),
  ]);
  expect(state.messages.at(-1)).toMatchObject({
    content: 'ok',
    reasoning: 'hm',
    toolCalls: [
      { id: 't', name: 'look', status: 'done', output: 1 },
      { id: 'c', name: 'paint', status: 'error', error: 'no' },
    ],
    components: [{ eventId: 'e', componentName: 'Chart', args: { x: 1 } }],
  });
});
