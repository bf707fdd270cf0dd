/** Apart from the services, so that a command that needs only their names does not load them. */
export const serviceTitles = {
  ussd: 'USSD gateway',
  agent: 'agent service',
  gateway: 'query gateway',
  devnode: 'development node',
  console: 'console page',
};
