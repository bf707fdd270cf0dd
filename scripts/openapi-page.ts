interface Schema {
  $ref?: string;
  type?: string | string[];
  items?: Schema;
}
interface Content {
  content?: Record<string, { schema?: Schema }>;
  description?: string;
}
interface Operation {
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: { name: string; in: string; required?: boolean; description?: string; schema?: Schema }[];
  requestBody?: Content;
  responses?: Record<string, Content>;
}
export interface OpenApiDocument {
  info: { title: string; description?: string };
  paths: Record<string, Record<string, Operation>>;
  components?: { schemas?: Record<string, unknown> };
}

export function toOpenApiPage({ info, paths, components }: OpenApiDocument): string {
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => toOperation(`${method.toUpperCase()} ${path}`, operation)),
  );
  const schemas = Object.entries(components?.schemas ?? {}).map(
    ([name, schema]) => `### ${name}\n\n\`\`\`json\n${JSON.stringify(schema, undefined, 2)}\n\`\`\``,
  );
  const parts = [`# ${info.title}`, info.description?.trim() ?? '', '## Routes', ...operations];
  return [...parts, ...(schemas.length > 0 ? ['## Schemas', ...schemas] : [])].join('\n\n');
}

function toOperation(title: string, { summary, description, parameters = [], requestBody, responses = {} }: Operation) {
  const rows = [
    ...parameters.map((each) => [`\`${each.name}\` (${each.in})`, toType(each.schema), each.description ?? '']),
    ...(requestBody ? [['body', toType(schemaOf(requestBody)), requestBody.description ?? '']] : []),
    ...Object.entries(responses).map(([status, reply]) => [status, toType(schemaOf(reply)), reply.description ?? '']),
  ];
  const table = rows.map((cells) => `| ${cells.map(toCell).join(' | ')} |`).join('\n');
  return [`### \`${title}\``, summary, description, `| | Type | |\n|---|---|---|\n${table}`]
    .filter(Boolean)
    .join('\n\n');
}

function schemaOf({ content }: Content): Schema | undefined {
  return Object.values(content ?? {})[0]?.schema;
}

function toType(schema: Schema | undefined): string {
  const name = schema?.$ref?.split('/').at(-1);
  if (name) return `[${name}](#${name.toLowerCase().replaceAll('.', '-')})`;
  return schema?.items ? `list of ${toType(schema.items)}` : [schema?.type ?? ''].flat().join(' or ');
}

function toCell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ').replaceAll('<', '&lt;').replaceAll('{{', '{ {');
}
