export { definePalaverChat, type PalaverChatElement } from './palaver-chat.tsx';
