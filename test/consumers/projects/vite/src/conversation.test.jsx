// The page's own test: no server, no network.
import { OraclesProvider } from '@palaver/oracles-client-sdk';
import { createFakeAgent } from '@palaver/oracles-client-sdk/testing';
import { fireEvent, render, screen } from '@testing-library/react';
import { expect, it } from 'vitest';
import { Conversation } from './conversation.jsx';

it('shows answers, and runs a tool and an action of the page', async () => {
  document.title = 'The farm';
  const agent = createFakeAgent({
    answers: [
      ['Good ', 'morning!'],
      [{ toolCall: { name: 'read_title' } }, 'I have read it.'],
      { toolCall: { name: 'show_rain', args: { month: 'May', millimetres: 160 } } },
      { refuse: { status: 503, code: 'UNAVAILABLE', message: 'Come back later.' } },
    ],
  });
  render(
    <OraclesProvider {...agent.provider}>
      <Conversation />
    </OraclesProvider>,
  );
  fireEvent.click(await screen.findByText('Start'));
  const send = async (text, expected) => {
    fireEvent.change(await screen.findByLabelText('Message'), { target: { value: text } });
    fireEvent.click(screen.getByText('Send'));
    await screen.findByText(expected);
  };
  await send('Hello', 'Good morning!');
  await send('Which page is this?', 'I have read it.');
  await send('And the rain?', 'May: 160 mm');
  await send('And now?', 'Come back later.');
  expect(agent.messages[1].body.tools.map(({ name }) => name)).toEqual(['read_title']);
});
