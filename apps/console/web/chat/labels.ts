import { defaultLabels, type Labels } from '@palaver/oracles-client-sdk/ui';

/** The words of the chat that are not the library's. */
export const labels: Labels = {
  ...defaultLabels,
  sessions: 'Sessions',
  newSession: 'New session',
  deleteSession: 'Delete the session “{name}”',
  more: 'Older sessions',
  older: 'Older messages',
  you: 'You said:',
  agent: 'The agent said:',
  stopped: 'stopped',
  failed: 'failed',
  attach: 'Upload files',
  files: 'Attachments',
  removeFile: 'Remove {name}',
};
