/** The two error replies of `POST /api/ussd`, word for word as the specification gives them. */
export const ussdReplies = {
  invalidInput: 'END Invalid input. Please try again.',
  unavailable: 'END Service temporarily unavailable. Please try again later.',
} as const;
