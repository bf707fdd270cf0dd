import { buildPackage } from './build-package.ts';

await buildPackage();
