import { englishWords } from '../react/content-view.tsx';

/** Every word that the interface shows; give your own for other languages. `{name}` is the name of a file or tool, or a conversation's title. */
export const defaultLabels = {
  ...englishWords,
  sessions: 'Conversations',
  newSession: 'New conversation',
  deleteSession: 'Delete: {name}',
  noSession: 'Start a conversation.',
  connecting: 'Connecting to the agent…',
  more: 'Show more',
  thread: 'Messages',
  older: 'Show older messages',
  you: 'You:',
  agent: 'Agent:',
  reasoning: 'Reasoning',
  thinking: 'Thinking…',
  writing: 'The agent is writing…',
  submitted: 'Waiting for the agent…',
  calling: 'Waiting for {name}…',
  deciding: 'Waiting for your decision',
  stopped: 'Stopped',
  failed: 'Failed',
  message: 'Message',
  attach: 'Attach files',
  files: 'Files',
  download: 'Download: {name}',
  removeFile: 'Remove: {name}',
  regenerate: 'Answer again',
  versions: 'Answers',
  earlierAnswer: 'Earlier answer',
  laterAnswer: 'Later answer',
  signedOut: 'Sign in to chat.',
  uploading: 'Uploading',
  send: 'Send',
  stop: 'Stop',
  retry: 'Try again',
  renameSession: 'Rename: {name}',
  confirmDelete: 'Delete “{name}” for good?',
  confirm: 'Delete',
  searchSessions: 'Search conversations',
  save: 'Save',
  cancel: 'Cancel',
  copy: 'Copy',
  copied: 'Copied',
  edit: 'Edit',
  resend: 'Send again',
  latest: 'Latest message',
  /** In which times are written: the browser's own where it is empty. */
  language: '',
};

export type Labels = typeof defaultLabels;

export function nameIn(label: string, name: string): string {
  return label.replace('{name}', () => name);
}

/** The words of the interface in a language (`fr`, `pt-BR`); none for those it does not know, which is English. */
export async function loadLabels(language: string): Promise<Partial<Labels>> {
  const [base = ''] = language.toLowerCase().split('-');
  if (base === 'en' || base === '') return {};
  const { default: translations }: { default: Record<string, Labels> } = await import('./translated-labels.json');
  return Object.hasOwn(translations, base) ? (translations[base] ?? {}) : {};
}

export function isRightToLeft(language: string): boolean {
  return /^(ar|fa|he|ur)\b/i.test(language);
}
