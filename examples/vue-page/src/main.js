import { createApp } from 'vue';
import ChatPage from './chat-page.vue';
import { openChat } from './open-chat.js';

const agentUrl = new URLSearchParams(location.search).get('url') ?? 'http://127.0.0.1:4000';
createApp(ChatPage, { chat: await openChat(agentUrl) }).mount('main');
