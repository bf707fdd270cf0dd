export { definePalaverChat, type PalaverChatElement, type PalaverChatProps } from './palaver-chat.tsx';
