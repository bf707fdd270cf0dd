import { measureSizes, toTable } from './measure-size.ts';

console.log(toTable(await measureSizes()));
