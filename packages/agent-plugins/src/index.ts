export { createBundledPlugins, createOracleApp } from './create-oracle-app.ts';
