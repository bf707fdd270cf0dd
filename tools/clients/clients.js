// Imported by packages/test-kit once this folder is installed.
export const clients = {
  '@a2a-js/sdk/client': () => import('@a2a-js/sdk/client'),
  '@ag-ui/client': () => import('@ag-ui/client'),
  '@ai-sdk/react': () => import('@ai-sdk/react'),
  '@modelcontextprotocol/client': () => import('@modelcontextprotocol/client'),
  ai: () => import('ai'),
  openai: () => import('openai'),
};
