import { mount } from 'svelte';
import ChatPage from './chat-page.svelte';
import { openChat } from './open-chat.js';

const agentUrl = new URLSearchParams(location.search).get('url') ?? 'http://127.0.0.1:4000';
mount(ChatPage, { target: document.querySelector('main'), props: { chat: await openChat(agentUrl) } });
