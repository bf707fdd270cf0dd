export { Chat, type ChatProps } from './chat.tsx';
export { Composer, type ComposerProps } from './composer.tsx';
export { defaultLabels, type Labels, loadLabels } from './labels.ts';
export { Sessions, type SessionsProps } from './sessions.tsx';
export { Thread, type ThreadProps } from './thread.tsx';
