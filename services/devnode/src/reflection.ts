import {
  create,
  type DescEnum,
  type DescExtension,
  type DescFile,
  type DescMessage,
  type DescService,
  type FileRegistry,
  type Message,
  toBinary,
} from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { type GrpcStatusName, toGrpcCode } from '@palaver/contract/internal';
import { type Method, parseMessage } from './grpc.ts';
import { getService } from './protocol.ts';

function createSymbolIndex(protocol: FileRegistry) {
  const types = [...protocol];
  const symbols = new Map(types.flatMap((desc) => listSymbols(desc).map((name) => [name, desc.file])));
  return {
    /** In alphabetical order, as other servers list them. */
    services: types
      .filter((desc) => desc.kind === 'service')
      .map(({ typeName }) => typeName)
      .sort(),
    file: (name: string) => protocol.getFile(name),
    fileOfSymbol: (name: string) => symbols.get(name),
    fileOfExtension(typeName: string, number: number) {
      const extendee = protocol.getMessage(typeName);
      return extendee && protocol.getExtensionFor(extendee, number)?.file;
    },
    extensionNumbers(typeName: string) {
      if (!protocol.getMessage(typeName)) return undefined;
      return types
        .flatMap((desc) => (desc.kind === 'extension' && desc.extendee.typeName === typeName ? desc.number : []))
        .sort((a, b) => a - b);
    },
  };
}

type SymbolIndex = ReturnType<typeof createSymbolIndex>;

function listSymbols(desc: DescMessage | DescEnum | DescExtension | DescService): string[] {
  const { typeName } = desc;
  switch (desc.kind) {
    case 'message':
      return [typeName, ...[...desc.fields, ...desc.oneofs].map(({ name }) => `${typeName}.${name}`)];
    case 'service':
      return [typeName, ...desc.methods.map(({ name }) => `${typeName}.${name}`)];
    case 'enum': {
      // Values are named in the scope of their enum, not under it.
      const scope = typeName.slice(0, -desc.name.length);
      return [typeName, ...desc.values.map(({ name }) => `${scope}${name}`)];
    }
    case 'extension':
      return [typeName];
  }
}

type ReflectionQuestion =
  | { case: 'listServices' | 'fileByFilename' | 'fileContainingSymbol' | 'allExtensionNumbersOfType'; value: string }
  | { case: 'fileContainingExtension'; value: { containingType: string; extensionNumber: number } }
  | { case?: undefined };

type ReflectionAnswer = { case: string; value: Record<string, unknown> };

/** `sent` holds the names of the files that this stream has had: none goes out twice. */
function answerReflection(index: SymbolIndex, question: ReflectionQuestion, sent: Set<string>): ReflectionAnswer {
  switch (question.case) {
    case 'listServices':
      return { case: 'listServicesResponse', value: { service: index.services.map((name) => ({ name })) } };
    case 'fileByFilename':
      return toFileAnswer(index.file(question.value), question.value, sent);
    case 'fileContainingSymbol':
      return toFileAnswer(index.fileOfSymbol(question.value), question.value, sent);
    case 'fileContainingExtension': {
      const { containingType, extensionNumber } = question.value;
      const file = index.fileOfExtension(containingType, extensionNumber);
      return toFileAnswer(file, `extension ${extensionNumber} of ${containingType}`, sent);
    }
    case 'allExtensionNumbersOfType': {
      const extensionNumber = index.extensionNumbers(question.value);
      if (!extensionNumber) return toError('NOT_FOUND', `not found: ${question.value}`);
      return { case: 'allExtensionNumbersResponse', value: { baseTypeName: question.value, extensionNumber } };
    }
    default:
      return toError('INVALID_ARGUMENT', 'this server does not support the request');
  }
}

function toFileAnswer(file: DescFile | undefined, asked: string, sent: Set<string>): ReflectionAnswer {
  if (!file) return toError('NOT_FOUND', `not found: ${asked}`);
  // The requested file goes first, then all it needs that has not been sent.
  const collected: Uint8Array[] = [];
  const visit = ({ proto, dependencies }: DescFile) => {
    if (sent.has(proto.name)) return;
    sent.add(proto.name);
    // As a compiler wrote it, with every option kept.
    collected.push(toBinary(FileDescriptorProtoSchema, proto));
    dependencies.forEach(visit);
  };
  visit(file);
  return { case: 'fileDescriptorResponse', value: { fileDescriptorProto: collected } };
}

function toError(code: GrpcStatusName, errorMessage: string): ReflectionAnswer {
  return { case: 'errorResponse', value: { errorCode: toGrpcCode(code), errorMessage } };
}

type ReflectionRequest = Message & { host: string; messageRequest: ReflectionQuestion };

// Live nodes answer in both versions, and clients ask in either. Their messages are the same.
const services = ['grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1alpha.ServerReflection'];

export function createReflectionMethods(protocol: FileRegistry): [string, Method][] {
  const index = createSymbolIndex(protocol);
  return services.flatMap((typeName) =>
    getService(protocol, typeName).methods.map(({ name, input, output }): [string, Method] => {
      const open = () => {
        const sent = new Set<string>();
        return (bytes: Buffer) => {
          const request = parseMessage<ReflectionRequest>(input, bytes);
          if (!request.ok) return request;
          const { message } = request;
          const response = create(output, {
            validHost: message.host,
            originalRequest: message,
            messageResponse: answerReflection(index, message.messageRequest, sent),
          });
          return { ok: true as const, message: toBinary(output, response) };
        };
      };
      return [`/${typeName}/${name}`, { streaming: true, open }];
    }),
  );
}
