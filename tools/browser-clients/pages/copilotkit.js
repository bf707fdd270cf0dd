// A page with the unmodified chat of CopilotKit, over AG-UI, and a tool that runs here.
import { CopilotChat, CopilotKitProvider, HttpAgent, useFrontendTool } from '@copilotkit/react-core/v2';
import { createElement as h } from 'react';
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
  return h(CopilotChat, { threadId });
}

const provider = { selfManagedAgents: { default: agent } };
createRoot(document.getElementById('root')).render(h(CopilotKitProvider, provider, h(Chat)));
