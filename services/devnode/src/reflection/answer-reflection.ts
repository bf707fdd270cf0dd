import { type GrpcStatusName, toGrpcCode } from '@palaver/contract/internal';
import type { ProtoFile, SymbolIndex } from './symbol-index.ts';

/** The questions of the reflection protocol; v1 and v1alpha have the same. */
export type ReflectionQuestion =
  | { case: 'listServices' | 'fileByFilename' | 'fileContainingSymbol' | 'allExtensionNumbersOfType'; value: string }
  | { case: 'fileContainingExtension'; value: { containingType: string; extensionNumber: number } }
  | { case?: undefined };

/** The oneof `message_response`. */
export type ReflectionAnswer = { case: string; value: Record<string, unknown> };

/** `sent` holds the names of the files this stream has had already: none goes out twice. */
export function answerReflection(
  index: SymbolIndex,
  question: ReflectionQuestion,
  sent: Set<string>,
): ReflectionAnswer {
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

function toFileAnswer(file: ProtoFile | undefined, asked: string, sent: Set<string>): ReflectionAnswer {
  if (!file) return toError('NOT_FOUND', `not found: ${asked}`);
  return { case: 'fileDescriptorResponse', value: { fileDescriptorProto: collectFiles(file, sent) } };
}

/** The file that was asked for first, then all it needs that has not been sent. */
function collectFiles(file: ProtoFile, sent: Set<string>): Uint8Array[] {
  const collected: Uint8Array[] = [];
  const visit = ({ name, bytes, imports }: ProtoFile) => {
    if (sent.has(name)) return;
    sent.add(name);
    collected.push(bytes);
    for (const imported of imports) visit(imported);
  };
  visit(file);
  return collected;
}

function toError(code: GrpcStatusName, errorMessage: string): ReflectionAnswer {
  return { case: 'errorResponse', value: { errorCode: toGrpcCode(code), errorMessage } };
}
