// A page with the unmodified chat of CopilotKit, over AG-UI, a tool that runs here, and a state that page and agent change.
import { CopilotChat, CopilotKitProvider, HttpAgent, useAgent, useFrontendTool } from '@copilotkit/react-core/v2';
import { Fragment, createElement as h } from 'react';
import { createRoot } from 'react-dom/client';
import { z } from 'zod';
import '@copilotkit/react-core/v2/styles.css';

const { url, token, chat: threadId } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
const agent = new HttpAgent({ url: `${url}/agui`, headers: { authorization: `Bearer ${token}` }, threadId });

function Chat() {
  useFrontendTool({
    name: 'read_title',
    description: 'The title of the page.',
    parameters: z.object({}),
    handler: async () => ({ title: document.title }),
  });
  return h(Fragment, null, h(State), h(CopilotChat, { threadId }));
}

function State() {
  const { agent: shared } = useAgent();
  const open = () => shared.setState({ ...shared.state, barn: 'open' });
  return h(
    'p',
    null,
    h('button', { type: 'button', id: 'open', onClick: open }, 'Open the barn'),
    h('output', null, JSON.stringify(shared.state)),
  );
}

const provider = { selfManagedAgents: { default: agent } };
createRoot(document.getElementById('root')).render(h(CopilotKitProvider, provider, h(Chat)));
