// VitePress's configuration; scripts/docs.ts puts it beside the documents. Dead links fail the build.
const page = (text, path) => ({ text, link: `/docs/${path}` });
const packages = ['agent', 'oracles-client-sdk', 'contract', 'ucan', 'store', 'service-kit'];

export default {
  title: 'Palaver',
  description: 'Reach a verifiable assistant and a public protocol from any device',
  rewrites: { 'README.md': 'index.md' },
  lastUpdated: false,
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    sidebar: [
      { text: 'Start', items: [page('Quick start', 'quick-start'), page('Console', 'console')] },
      {
        text: 'USSD gateway',
        items: [
          page('Overview', 'ussd'),
          page('Menus', 'ussd-menus'),
          page('Forms', 'ussd-forms'),
          page('Actions', 'ussd-actions'),
          page('Adapters', 'ussd-adapters'),
          page('Translating', 'translating'),
        ],
      },
      {
        text: 'Agent',
        items: [
          page('Your first agent', 'first-agent'),
          page('From the AI SDK', 'from-ai-sdk'),
          page('From Mastra', 'from-mastra'),
          page('From LangGraph.js', 'from-langgraph'),
          page('Plugins', 'plugins/writing-a-plugin'),
          page('API', 'agent-api'),
          page('Standard clients', 'standards'),
          page('Client library', 'client-library'),
          page('Migrating', 'migrating'),
        ],
      },
      { text: 'Query gateway', items: [page('Overview', 'gateway')] },
      {
        text: 'Running it',
        items: [
          page('Configuration', 'configuration'),
          page('Deploying', 'deploying'),
          page('Scaling', 'scaling'),
          page('Upgrading', 'upgrading'),
          page('Security', 'security'),
          page('Data', 'data'),
          page('Faults', 'faults'),
          page('Troubleshooting', 'troubleshooting'),
        ],
      },
      {
        text: 'Reference',
        collapsed: true,
        items: [
          { text: 'Agent service', link: '/reference/agent-service' },
          { text: 'Query gateway', link: '/reference/query-gateway' },
          ...packages.map((name) => ({ text: `@palaver/${name}`, link: `/reference/${name}/README` })),
        ],
      },
      {
        text: 'Changing it',
        items: [
          { text: 'Architecture', link: '/ARCHITECTURE' },
          { text: 'Contributing', link: '/CONTRIBUTING' },
          { text: 'Changelog', link: '/CHANGELOG' },
        ],
      },
    ],
  },
};
