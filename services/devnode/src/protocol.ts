import { readFile } from 'node:fs/promises';
import {
  createFileRegistry,
  type DescMessage,
  type DescService,
  type FileRegistry,
  fromBinary,
} from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';

/** The compiled `protos/` folder. Made by `npm run protos`; a test of the gateway fails when it is out of date. */
const descriptorsUrl = new URL('../protos/descriptors.binpb', import.meta.url);

export async function loadProtocol(): Promise<FileRegistry> {
  return createFileRegistry(fromBinary(FileDescriptorSetSchema, await readFile(descriptorsUrl)));
}

export function getMessage(protocol: FileRegistry, typeName: string): DescMessage {
  const desc = protocol.getMessage(typeName);
  if (!desc) throw new Error(`protos/ declares no message ${typeName}`);
  return desc;
}

export function getService(protocol: FileRegistry, typeName: string): DescService {
  const desc = protocol.getService(typeName);
  if (!desc) throw new Error(`protos/ declares no service ${typeName}`);
  return desc;
}
