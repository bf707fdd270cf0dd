/** Where the agent fetches attachments from, in the user's name. */
export interface MatrixSession {
  homeServer: string;
  accessToken: string;
}

export const noMatrix: MatrixSession = { homeServer: '', accessToken: '' };
