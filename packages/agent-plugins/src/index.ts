export { createBundledPlugins } from './create-bundled-plugins.ts';
export { createOracleApp } from './create-oracle-app.ts';
