import { create, type FileRegistry, type Message, toBinary } from '@bufbuild/protobuf';
import { type Method, parseMessage } from '../grpc/method.ts';
import { getService } from '../protocol.ts';
import { answerReflection, type ReflectionQuestion } from './answer-reflection.ts';
import { createSymbolIndex } from './symbol-index.ts';

type ReflectionRequest = Message & { host: string; messageRequest: ReflectionQuestion };

// Live nodes answer in both versions, and clients ask in either. Their messages are the same.
const services = ['grpc.reflection.v1.ServerReflection', 'grpc.reflection.v1alpha.ServerReflection'];

/** The reflection protocol: clients learn from it what the server offers. */
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
