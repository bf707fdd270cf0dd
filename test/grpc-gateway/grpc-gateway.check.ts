import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createTempDir, startProcess } from '@palaver/test-kit';
import { beforeAll, expect, type TestContext, test } from 'vitest';
import { startTestGateway, type TestGateway } from '../../services/gateway/test/start-test-gateway.ts';

const cwd = fileURLToPath(new URL('front', import.meta.url));
const program = fileURLToPath(new URL('../../node_modules/.cache/palaver-check/grpc-gateway', import.meta.url));

function go(...args: string[]): string {
  const { error, status, stdout, stderr } = spawnSync('go', args, { cwd, encoding: 'utf8' });
  if (error) throw new Error('Go is not on the PATH', { cause: error });
  if (status !== 0) throw new Error(stderr);
  return stdout.trim();
}

beforeAll(() => {
  go('build', '-o', program, '.');
});

interface Source {
  folder: string;
  files: string[];
}

/** Asks both for the paths and gives what differs. Errors are compared by their status. */
async function compare(
  { onTestFinished }: TestContext,
  { folder, files }: Source,
  listPaths: (gateway: TestGateway) => string[] | Promise<string[]>,
) {
  const temp = await createTempDir();
  onTestFinished(() => temp[Symbol.asyncDispose]());
  const descriptors = join(temp.path, 'descriptors.binpb');
  const front = startProcess(program, [descriptors, folder, ...files]);
  onTestFinished(() => front.kill());
  await front.printed(/http:/);
  const [node = '', url = ''] = front.output().trim().split(' ');
  await using gateway = await startTestGateway({
    GATEWAY_UPSTREAMS: node,
    GATEWAY_DESCRIPTORS: descriptors,
    GATEWAY_ROUTE_PRECEDENCE: 'last',
    GATEWAY_CACHE_TTL_MS: '0',
  });
  const read = async (response: Response) => {
    const text = await response.text();
    return response.status === 200 ? JSON.parse(text) : response.status;
  };
  const paths = await listPaths(gateway);
  const differences: { path: string; reference: unknown; own: unknown }[] = [];
  for (const path of paths) {
    const standard = `${path}${path.includes('?') ? '&' : '?'}json=proto3`;
    const [reference, own] = [await read(await fetch(url + standard)), await read(await gateway.get(standard))];
    // Texts, so that the digits of numbers count.
    if (toText(reference) !== toText(own)) differences.push({ path, reference, own });
  }
  process.stdout.write(`${paths.length} requests compared, ${differences.length} differ\n`);
  return differences;
}

/** Members in the order of their names. */
function toText(json: unknown): string {
  return JSON.stringify(json, (_key, value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}

const scalars = {
  text: ['a', '', '%3Ca%26%3E', '%C3%A9'],
  data: ['AQID', '_-8=', '', '!'],
  flag: ['true', 'false', 't', '0', 'x'],
  double: ['0.1', '-0', 'NaN', '-Infinity', '1e300', '1e21', '1e-7', 'x'],
  float: ['0.1', '16777216', '3.4028235e38', '1e-45', '1e39', 'NaN'],
  int32: ['5', '-5', '0', '2147483647', '2147483648', '0x10', 'x', ''],
  int64: ['9223372036854775807', '-9223372036854775808', '9223372036854775808'],
  uint32: ['4294967295', '-1'],
  uint64: ['18446744073709551615', '18446744073709551616'],
  sint32: ['-1'],
  sint64: ['-2'],
  fixed32: ['3'],
  fixed64: ['4'],
  sfixed32: ['-5'],
  sfixed64: ['-6'],
  colour: ['RED', '1', 'BLUE', '-5', 'NONE', 'GREEN', '77'],
  chosen_text: ['', 'x'],
  chosen_int64: ['0', '7'],
  chosen_colour: ['NONE', 'RED'],
  at: [
    '2024-01-02T03:04:05Z',
    '2024-01-02T03:04:05.123456789+02:00',
    '0001-01-01T00:00:00Z',
    '2024-02-30T00:00:00Z',
    'x',
  ],
  wait: ['1m30s', '-1.5s', '0', '1.000000001s', 'x', '1'],
  mask: ['text,nested.by_text', 'camel', ''],
  struct: ['%7B%22a%22:%5B1,null,%7B%7D%5D%7D', '%5B%5D', 'x'],
  value: ['1', 'null', 'true', '%22t%22', '%5B1%5D', '%7B'],
  string_value: ['x', ''],
  bytes_value: ['AQID', '!'],
  bool_value: ['true', 'false', 'x'],
  double_value: ['0.1', 'x'],
  float_value: ['0.1', '0'],
  int32_value: ['0', '-3', 'x'],
  int64_value: ['0', '9223372036854775807'],
  uint32_value: ['1', '-1'],
  uint64_value: ['18446744073709551615'],
  kind_text: ['', 'x'],
  kind_int32: ['0', '3'],
  kind_at: ['2024-01-02T03:04:05Z'],
  camelCased: ['x'],
  with_2_digits: ['x'],
  otherName: ['x'],
  renamed: ['x'],
  chosenText: ['x'],
  nothing: ['x'],
};

const queries = [
  ...Object.entries(scalars).flatMap(([name, values]) => values.map((value) => `${name}=${value}`)),
  ...Object.entries(scalars).map(([name, values]) => `nested.nested.${name}=${values[0]}`),
  ...[
    'texts=a&texts=&texts=b',
    'int32s=1&int32s=0',
    'int32s=1&int32s=x',
    'floats=0.1&floats=NaN',
    'colours=RED&colours=-5',
  ],
  ...[
    'datas=AQ==&datas=',
    'ats=2024-01-02T03:04:05Z&ats=1970-01-01T00:00:00Z',
    'ats=x',
    'int64_values=0&int64_values=5',
  ],
  ...[
    'many=x',
    'many.text=x',
    'nested=x',
    'empty=x',
    'list=x',
    'kind_nested.text=x',
    'kind_text=a&kind_int32=1',
    'text.x=1',
  ],
  ...[
    'by_text[a]=b',
    'by_text[a]=b&by_text[c]=',
    'by_text[]=x',
    'by_text=x',
    'by_int32[5]=0.1',
    'by_int32[x]=1',
    'by_flag[true]=RED',
  ],
  ...[
    'waits[a]=1s&waits[b]=90s',
    'waits[a]=x',
    'values_by_text[a]=null',
    'byText[a]=b',
    'nested.by_text[a.b]=c',
    'by_text[a]=b&by_text[a]=c',
  ],
  ...['text=a&text=b', '', '&', 'text', 'text=a%', 'text=a+b', 'text=a;b', '=x', 'any=x', 'any.type_url=/every.Every'],
];

const paths = [
  ...queries.map((query) => `/every?${query}`),
  ...[
    '/every/a/of/b',
    '/every/a/of/b?text=c&nested.flag=true',
    '/every/a/of/b?nested.text=c',
    '/every/%3Ca%3E/of/b%20c',
    '/every//of/b',
  ],
  ...[
    '/every/number/5',
    '/every/number/x',
    '/every/number/-5',
    '/every/enum/RED',
    '/every/enum/1',
    '/every/enum/GREEN',
  ],
  ...[
    '/every/deep/a/b/c',
    '/every/deep/a',
    '/every/part/a/x/b',
    '/every/part/a/x/c',
    '/every/verb/x:close',
    '/every/verb/x',
    '/every/verb/x:y:close',
  ],
  ...['/overlap/x', '/overlap/named', '/overlap/a/x', '/overlap/a/b/x', '/overlap/x/x', '/nowhere'],
  ...['inner.number=0', 'inner.number=3&inner.deep.text=a&inner.deep.text=b', 'five=5', 'five=0', 'narrow=0.1'].map(
    (query) => `/groups?needed=x&${query}`,
  ),
  ...[
    'explicit=0&implicit=0',
    'implicit=3',
    'part.text=x',
    'at=2024-01-02T03:04:05Z',
    'expanded=1&expanded=2',
    'ats=2024-01-02T03:04:05Z',
  ].map((query) => `/editions?${query}`),
];

/** What the contract settles otherwise, and what the reference fails at. */
const decided = ['/every?int32=0x10', '/every?text=a&text=b', '/every?mask=', '/every//of/b'];

test('requests for every kind of field are read and answered as by grpc-gateway 2', async (context) => {
  const source = {
    folder: fileURLToPath(new URL('protos', import.meta.url)),
    files: ['every/kinds.proto', 'every/groups.proto', 'every/editions.proto'],
  };
  const differences = await compare(context, source, () => paths);
  expect(differences.filter(({ path }) => !decided.includes(path))).toEqual([]);
  expect(differences).toHaveLength(decided.length);
});

interface Parameter {
  name: string;
  in: 'path' | 'query';
  schema: { type?: string; format?: string; enum?: string[]; items?: Parameter['schema'] };
}

function toValue({ type, format, enum: names, items }: Parameter['schema']): string {
  if (items) return toValue(items);
  if (names) return names.at(-1) ?? '';
  if (format === 'date-time') return '2024-01-02T03:04:05Z';
  if (type === 'boolean') return 'true';
  return type === 'integer' || type === 'number' ? '7' : 'AQ==';
}

/** Each route without parameters, and once with each. */
async function crawl(gateway: TestGateway): Promise<string[]> {
  type Paths = Record<string, { get: { parameters?: Parameter[] } }>;
  const { paths } = (await (await gateway.get('/openapi.json')).json()) as { paths: Paths };
  return Object.entries(paths).flatMap(([template, { get }]) => {
    const parameters = get.parameters ?? [];
    const path = parameters
      .filter((parameter) => parameter.in === 'path')
      .reduce((text, { name, schema }) => text.replace(`{${name}}`, encodeURIComponent(toValue(schema))), template);
    const given = parameters.filter((parameter) => parameter.in === 'query');
    return [path, ...given.map(({ name, schema }) => `${path}?${name}=${encodeURIComponent(toValue(schema))}`)];
  });
}

test('routes of its own examples answer as by grpc-gateway 2', async (context) => {
  const folder = go('list', '-m', '-f', '{{.Dir}}', 'github.com/grpc-ecosystem/grpc-gateway/v2');
  const proto = 'examples/internal/proto/examplepb';
  const names = [
    'a_bit_of_everything',
    'echo_service',
    'flow_combination',
    'non_standard_names',
    'response_body_service',
    'wrappers',
  ];
  const files = names.map((name) => `${proto}/${name}.proto`);
  const differences = await compare(context, { folder, files }, crawl);
  // A required field is missing: here that is left to the server, which this one does not check.
  expect(differences.map(({ path }) => path)).toEqual(['/v2/example/echo']);
});
