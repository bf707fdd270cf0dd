/** Every word that the interface shows; give your own for other languages. */
export const defaultLabels = {
  sessions: 'Conversations',
  newSession: 'New conversation',
  deleteSession: 'Delete',
  noSession: 'Start a conversation.',
  more: 'Show more',
  thread: 'Messages',
  older: 'Show older messages',
  you: 'You:',
  agent: 'Agent:',
  reasoning: 'Reasoning',
  writing: 'The agent is writing…',
  stopped: 'Stopped',
  failed: 'Failed',
  message: 'Message',
  attach: 'Attach files',
  removeFile: 'Remove',
  regenerate: 'Answer again',
  signedOut: 'Sign in to chat.',
  uploading: 'Uploading',
  send: 'Send',
  stop: 'Stop',
  retry: 'Try again',
};

export type Labels = typeof defaultLabels;
