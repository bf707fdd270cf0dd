/** A fault that stops the start. Its message is one clear text for the operator; no stack is shown. */
export class StartError extends Error {
  override readonly name = 'StartError';
}
